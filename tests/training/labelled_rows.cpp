#include "engine/data/labelled_rows.h"
#include "tests/io/files.h"
#include "tests/support/catch.h"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::string> kMoods{"good", "bad", "calm"};
using Targets = std::vector<std::vector<double>>;

Targets targetsOf(const std::vector<LabelledRow>& rows) {
    Targets targets;
    for (const LabelledRow& row : rows) targets.push_back(row.targets);
    return targets;
}

Targets read(const std::string& name, const std::string& text, LabelKind kind = LabelKind::Several,
             const std::vector<std::string>& labels = kMoods) {
    const TemporaryFolder folder;
    writeFile(folder / name, text);
    return targetsOf(readLabelledRows(folder / name, labels, kind, false));
}

} // namespace

TEST_CASE("labelled rows: every form of a table says the same labels", "[data]") {
    const Targets expected{{1, 0, 1}, {0, 1, 0}, {0, 0, 0}};
    const auto [name, text] = GENERATE(
        std::pair{"a.csv", "text,labels\n\"a fine, quiet day\",good|calm\nrain,bad\nso,\n"},
        std::pair{"a.csv", "id;Labels;Text\n1;good, calm;fine\n2;bad;rain\n3;;so\n"},
        std::pair{"a.csv", "good,bad,calm,text\n1,0,1,\"a \"\"fine\"\"\nday\"\n0,1,0,rain\n0,0,0,so\n"},
        std::pair{"a.csv", "text,labels\nfine,\"[0, 2]\"\nrain,1\nso,[]\n"},
        std::pair{"a.tsv", "good;calm\t\"fine\nbad\train\n\tso\n"},
        std::pair{"a.txt", "sentence1\tsentence2\tlabels\nfine\tday\t0|2\r\nrain\tday\tbad\r\n\r\nso\tso\t\r\n"},
        std::pair{"a.jsonl", R"({"text": "fine", "labels": ["good", "calm"]}
{"text": "rain", "labels": "bad"}

{"text": "so", "labels": []})"},
        std::pair{"a.jsonl", R"({"text": "fine", "labels": [0, 2]}
{"text": "rain", "label": 1}
{"text": "so", "label": null})"},
        std::pair{"a.json", R"([{"text": "fine", "labels": [1.0, 0.0, 1.0]}, {"text": "rain", "labels": [0, 1, 0]},
                               {"text": "so", "labels": [false, false, false]}])"},
        std::pair{"a.jsonl", R"({"text": "fine", "good": true, "bad": 0, "calm": 1}
{"text": "rain", "good": false, "bad": 1, "calm": 0}
{"text": "so", "good": 0, "bad": 0, "calm": 0})"});
    CAPTURE(text);
    CHECK(read(name, text) == expected);
}

TEST_CASE("labelled rows: quotes hold separators, lines and quotes, and a pair has two texts", "[data]") {
    const TemporaryFolder folder;
    writeFile(folder / "a.csv", "text,second,label\n\"a, \"\"b\"\"\nc\",d,bad\n");
    const auto rows = readLabelledRows(folder / "a.csv", kMoods, LabelKind::One, false);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].text == "a, \"b\"\nc");
    CHECK(rows[0].second == "d");
}

TEST_CASE("labelled rows: a regression reads numbers, and one label is there or not", "[data]") {
    CHECK(read("a.csv", "sentence1,sentence2,score\na,b,4.25\nc,d,-1\n", LabelKind::Number, {"LABEL_0"}) ==
          Targets{{4.25}, {-1}});
    CHECK(read("a.jsonl", "{\"text\": \"a\", \"label\": [1, 2.5]}", LabelKind::Number, {"x", "y"}) ==
          Targets{{1, 2.5}});
    CHECK(read("a.tsv", "1\ta\n0\tb\n", LabelKind::Several, {"toxic"}) == Targets{{1}, {0}});
    CHECK(read("a.tsv", "toxic\ta\n\tb\n", LabelKind::Several, {"toxic"}) == Targets{{1}, {0}});
}

TEST_CASE("labelled rows: a number is the label with this name, where names are numbers", "[data]") {
    const std::vector<std::string> stars{"1", "2", "3"};
    const std::vector<std::vector<double>> right{{1, 0, 0}, {0, 0, 1}};
    for (const auto& [name, text] :
         {std::pair{"a.csv", "text,label\na,1\nb,3\n"}, std::pair{"a.csv", "text,label\na,1.0\nb,3.0\n"},
          std::pair{"a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 3}\n"},
          std::pair{"a.jsonl", "{\"text\": \"a\", \"label\": \"1\"}\n{\"text\": \"b\", \"label\": [3.0]}\n"}}) {
        CAPTURE(name, text);
        CHECK(read(name, text, LabelKind::One, stars) == right);
    }
    for (const auto& [name, text] :
         {std::pair{"a.csv", "text,label\na,0\n"}, std::pair{"a.jsonl", "{\"text\": \"a\", \"label\": 0}\n"}})
        CHECK_THROWS_WITH(read(name, text, LabelKind::One, stars),
                          CONTAINS("has the label \"0\", which the model does"));
}

TEST_CASE("labelled rows: pictures lie in the table's folder, or in one for each label", "[data]") {
    const TemporaryFolder folder;
    writeFile(folder / "metadata.csv", "file_name,labels\nset/a.png,good|bad\n");
    const auto rows = readLabelledRows(folder.path(), kMoods, LabelKind::Several, true);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].picture == folder.path() / "set/a.png");
    CHECK(rows[0].targets == std::vector<double>{1, 1, 0});
    writeFile(folder / "metadata.csv", "file_name,labels\n../a.png,good\n");
    CHECK_THROWS_WITH(readLabelledRows(folder.path(), kMoods, LabelKind::Several, true),
                      CONTAINS("lies outside of the table's folder"));
    writeFile(folder / "metadata.tsv", "file_name\tlabels\na.png\tgood\n");
    CHECK_THROWS_WITH(readLabelledRows(folder.path(), kMoods, LabelKind::Several, true),
                      CONTAINS("\"metadata.csv\", \"metadata.tsv\" may each be the table of its pictures"));
    fs::remove(folder / "metadata.tsv");
    fs::remove(folder / "metadata.csv");
    CHECK_THROWS_WITH(readLabelledRows(folder.path(), kMoods, LabelKind::One, true), CONTAINS("neither metadata.csv"));
    for (const char* label : {"bad", "calm"}) {
        fs::create_directory(folder / label);
        writeFile(folder / (std::string(label) + "/1.png"), "");
    }
    CHECK(targetsOf(readLabelledRows(folder.path(), kMoods, LabelKind::One, true)) == Targets{{0, 1, 0}, {0, 0, 1}});
}

TEST_CASE("labelled rows: which columns are read, and which are not, is said", "[data]") {
    const auto remark = [](const std::string& name, const std::string& text, bool ofPictures = false,
                           LabelKind kind = LabelKind::One) {
        const TemporaryFolder folder;
        writeFile(folder / name, text);
        std::string says;
        readLabelledRows(folder / name, kMoods, kind, ofPictures, &says);
        return says;
    };
    CHECK(remark("a.csv", "text,label\na,good\n").empty());
    CHECK(remark("a.csv", "text,good,bad,calm\na,1,0,0\n").empty());
    CHECK(remark("a.tsv", "good\ta\tb\n").empty());
    CHECK(
        remark("a.csv", "text,target,label\na,bad,good\n") ==
        "a.csv: nothing reads the column \"target\"; texts from the column \"text\", labels from the column \"label\"");
    CHECK(
        remark("a.csv", "id,sentence,Review,context,text_b,labels\n1,a,b,c,d,good\n") ==
        "a.csv: nothing reads the columns \"context\", \"id\", \"review\"; texts from the column \"sentence\", second "
        "texts from the column \"text_b\", labels from the column \"labels\"");
    CHECK(
        remark("a.csv", "text,labels,good,bad,calm\na,bad,1,0,0\n") ==
        "a.csv: nothing reads the column \"labels\"; texts from the column \"text\", labels from the columns \"bad\", "
        "\"calm\", \"good\"");
    CHECK_THAT(remark("a.csv", "text,labels,good\na,bad,1\n"), CONTAINS("nothing reads the column \"good\""));
    CHECK(remark("a.jsonl", "{\"text\": \"a\", \"label\": 0}\n{\"text\": \"b\", \"target\": 1, \"label\": 0}\n"
                            "{\"text\": \"b\", \"target\": 1}\n") ==
          "a.jsonl: nothing reads the column \"target\"; texts from the column \"text\", labels from the columns "
          "\"label\", \"target\"");
    CHECK_THAT(
        remark("a.csv", "file_name,image,text,label\na.png,b.png,c,good\n", true),
        CONTAINS("nothing reads the columns \"image\", \"text\"; pictures from the column \"file_name\", labels"));
    CHECK_THAT(remark("a.tsv", "good\ta\tb\tc\n"), CONTAINS("nothing reads the column \"4\""));
    std::string many = "text,label", cells = "\na,good";
    for (int i = 10; i < 30; ++i) {
        many += ",x" + std::to_string(i);
        cells += ",1";
    }
    CHECK_THAT(remark("a.csv", many + cells + "\n"), CONTAINS("\"x10\", ") && CONTAINS("\"x17\" and 12 more; texts"));
}

TEST_CASE("labelled rows: what does not fit names the line and the remedy", "[data]") {
    struct Case {
        const char *name, *text, *says;
    };
    const auto each = GENERATE(
        Case{"a.csv", "text,labels\na,god\n", "line 2 has the label \"god\""},
        Case{"a.csv", "text,labels\na,god\n", "such as \"good\""},
        Case{"a.csv", "text,labels\na,5\n", "line 2 has the label"},
        Case{"a.csv", "text,labels\na,good,b\n", "has 3 cells and line 1 names 2"},
        Case{"a.csv", "file_name,labels\na.png,good\n", "has no text"},
        Case{"a.csv", "text,labels\n\"a,good\n", "a quote without an end"},
        Case{"a.csv", "text,good,bad\na,1,0\n", "no column \"calm\""},
        Case{"a.csv", "text,good,bad,calm\na,1,0.5,0\n", "says \"0.5\" for \"bad\""},
        Case{"a.csv", "text,labels\n,good\n", "has no text"},
        Case{"a.csv", "text,labels\n", "the file has no examples"},
        Case{"a.csv", "text,Text,label\na,b,good\n", "line 1 gives \"text\" twice"},
        Case{"a.jsonl", "{\"text\": \"a\", \"text\": \"b\", \"label\": 0}\n", "line 1 gives \"text\" twice"},
        Case{"a.jsonl", "{\"text\": \"a\", \"Text\": \"b\", \"label\": 0}\n", "line 1 gives \"text\" twice"},
        Case{"a.jsonl", "{\"text\": \"a\", \"second\": 3, \"label\": 0}\n", "line 1 says 3 for \"second\""},
        Case{"a.tsv", "only a text\n", "is not labels, a tab and a text"},
        Case{"a.jsonl", "{\"text\": 3, \"labels\": []}", "has no text"}, Case{"a.jsonl", "7", "is not a JSON object"});
    CAPTURE(each.text);
    CHECK_THROWS_WITH(read(each.name, each.text), CONTAINS(each.says));
    CHECK_THROWS_WITH(read("a.csv", "text,labels\na,good|bad\n", LabelKind::One),
                      CONTAINS("has 2 labels, and the model says one of several"));
    CHECK_THROWS_WITH(read("a.csv", "text,score\na,high\n", LabelKind::Number, {"x"}), CONTAINS("write a number"));
    CHECK_THROWS_WITH(read("a.jsonl", "{\"text\": \"a\", \"labels\": [0, 1]}", LabelKind::Several, {"x", "y"}),
                      CONTAINS("may be two labels or one flag for each"));
}

TEST_CASE("labelled rows: the names of columns may follow empty lines, and need not all be known", "[data]") {
    const Targets expected{{1, 0, 0}, {0, 1, 0}};
    const auto [name, text] =
        GENERATE(std::pair{"a.csv", "\n \n,,\ntext,labels\nfine,good\n,\nrain,bad\n\n"},
                 std::pair{"a.csv", ";;\nnote;labels;text\nx;good;fine\n;bad;rain\n;;\n"},
                 std::pair{"a.tsv", "\t\nmood of the day\tlabels\ttext\nx\tgood\tfine\ny\tbad\train\n"},
                 std::pair{"a.tsv", "good\tbad\tcalm\ttext\n1\t0\t0\tfine\n0\t1\t0\train\n"});
    CAPTURE(text);
    CHECK(read(name, text) == expected);
    for (const auto& [labels, header] : {std::pair{kMoods, "phrase,labels"}, {kMoods, "good,phrase,bad,calm"}})
        CHECK_THROWS_WITH(read("a.csv", std::string("\n") + header + "\n1,1,1,1\n", LabelKind::Several, labels),
                          CONTAINS(header[0] == 'p' ? "line 3 has 4 cells and line 2 names 2"
                                                    : "line 3 has no text in the columns \"bad\", \"calm\", \"good\""));
    CHECK_THROWS_WITH(read("a.csv", "phrase,labels\nfine,good\n"),
                      CONTAINS("has no text in the columns \"labels\", \"phrase\"; name the column of the texts as one "
                               "of text, sentence,"));
    CHECK(read("a.tsv", "question\tis it?\nreview\tit is\n", LabelKind::One, {"question", "review"}) ==
          Targets{{1, 0}, {0, 1}}); // a label
}

TEST_CASE("labelled rows: a table of pictures with other names of columns says which are expected", "[data]") {
    const TemporaryFolder folder;
    const auto read = [&](const std::string& text) {
        writeFile(folder / "metadata.csv", text);
        return targetsOf(readLabelledRows(folder.path(), kMoods, LabelKind::Several, true));
    };
    CHECK_THROWS_WITH(read("img,labels\na.png,good\n"),
                      CONTAINS("line 2 names no picture in the columns \"img\", \"labels\"; name the column of the "
                               "pictures as one of file_name, filename, file, path, image, picture"));
    CHECK_THROWS_WITH(read("img,mood\na.png,good\n"),
                      CONTAINS("line 1 has the cells \"img\", \"mood\", and \"mood\" is neither a picture in the") &&
                          CONTAINS("one of file_name,") && CONTAINS("that of the labels labels"));
    writeFile(folder / "a.png", "");
    CHECK(read("good,a.png\n") == Targets{{1, 0, 0}});
    fs::remove(folder / "metadata.csv");
    fs::create_directory(folder / "cat");
    writeFile(folder / "cat/1.png", "");
    CHECK_THROWS_WITH(readLabelledRows(folder.path(), kMoods, LabelKind::One, true),
                      CONTAINS("the folder has the label \"cat\", which the model does not know"));
}

TEST_CASE("labelled rows: a decimal comma is refused where it may part two numbers or be in one", "[data]") {
    const auto numbers = [](const char* name, const std::string& text, std::vector<std::string> labels = {"x"}) {
        return read(name, text, LabelKind::Number, labels);
    };
    constexpr const char* kHint =
        "\"1,5\" for \"score\"; write a number, with a decimal point as in 1.5; several have |";
    CHECK_THROWS_WITH(numbers("a.csv", "text;score\na;1,5\n", {"x", "y"}), CONTAINS(kHint));
    CHECK_THROWS_WITH(numbers("a.tsv", "text\tscore\na\t1,5\n", {"x", "y"}), CONTAINS(kHint));
    CHECK_THROWS_WITH(numbers("a.jsonl", R"({"text": "a", "score": "1,5"})", {"x", "y"}), CONTAINS(kHint));
    CHECK(numbers("a.csv", "text;score\na;1.5|2\n", {"x", "y"}) == Targets{{1.5, 2}});
    CHECK(numbers("a.tsv", "text\tscore\na\t1.5;2\n", {"x", "y"}) == Targets{{1.5, 2}});
    CHECK(numbers("a.csv", "text,score\na,\"1,5\"\n", {"x", "y"}) == Targets{{1, 5}});
    CHECK_THROWS_WITH(numbers("a.csv", "text,score\na,\"1,5\"\n"), CONTAINS("has 2 numbers, and the model says 1"));
    const TemporaryFolder folder;
    writeFile(folder / "a.csv", "text;joy;fear\na;1,5;2\nb;2,5;1\n");
    CHECK(readLabelledTable(folder / "a.csv", {}, LabelKind::Number, false)
              .remark.starts_with("a.csv: the column \"joy\" is no label: line 2 says \"1,5\" for \"joy\"; write a "
                                  "number, with a decimal point "
                                  "as in 1.5. a.csv: nothing reads"));
    writeFile(folder / "a.csv", "text;joy\na;1,5\nb;2,5\n");
    CHECK_THROWS_WITH(readLabelledTable(folder / "a.csv", {}, LabelKind::Number, false),
                      CONTAINS("line 2 says \"1,5\" for \"joy\"; write a number"));
}

TEST_CASE("labelled rows: a cell that makes a column another kind is named", "[data]") {
    const TemporaryFolder folder;
    const auto remarkOf = [&](const char* name, const std::string& text, LabelKind kind) {
        writeFile(folder / name, text);
        return readLabelledTable(folder / name, {}, kind, false).remark;
    };
    CHECK(remarkOf("a.csv", "text,joy,fear\na,1,2\nb,2,3\nc,3,low\n", LabelKind::Number) ==
          "a.csv: the column \"fear\" is no label: line 4 says \"low\" for \"fear\"; write a number, with a decimal "
          "point "
          "as in 1.5. a.csv: nothing reads the column \"fear\"; texts from the column \"text\", labels from the column "
          "\"joy\"");
    CHECK_THAT(remarkOf("a.jsonl",
                        "{\"text\": \"a\", \"joy\": 1, \"fear\": 1}\n{\"text\": \"b\", \"joy\": 1}\n"
                        "{\"text\": \"c\", \"joy\": 0, \"fear\": 1}\n",
                        LabelKind::Several),
               CONTAINS("a.jsonl: the column \"fear\" is no label: line 2 has no \"fear\"; write 1 or 0"));
    CHECK(remarkOf("a.csv", "text,stars\na,1\nb,0\n", LabelKind::Several).empty());
    CHECK(remarkOf("a.csv", "text,score\na,1\nb,3\nc,x\n", LabelKind::Several) ==
          "a.csv: line 4 says \"x\" for \"score\", and most other labels there are numbers: all count as names of "
          "labels");
    CHECK(remarkOf("a.csv", "text,score\na,1\nb,good\nc,x\n", LabelKind::Several).empty());
    // A model knows most of the labels.
    writeFile(folder / "a.csv", "text,labels\na,good\nb,bad\nc,god\nd,calm\n");
    CHECK(readLabelledTable(folder / "a.csv", kMoods, LabelKind::Several, false).remark ==
          "a.csv: the labels are those of the table, because line 4 has the label \"god\", which the model does not "
          "know");
    writeFile(folder / "a.csv", "text,labels\na,joy\nb,fear\n");
    CHECK(readLabelledTable(folder / "a.csv", kMoods, LabelKind::Several, false).remark.empty());
}

TEST_CASE("labelled rows: a mistake in JSON is named by its record or its line in the file", "[data]") {
    CHECK_THROWS_WITH(read("a.json", "[{\"text\": \"a\", \"labels\": []},\n\n{\"text\": \"b\", \"labels\": \"god\"}]"),
                      CONTAINS("record 2 has the label \"god\""));
    CHECK_THROWS_WITH(read("a.json", "[{\"text\": \"a\", \"labels\": []}, 7]"),
                      CONTAINS("record 2 is not a JSON object"));
    CHECK_THROWS_WITH(read("a.json", "[{\"text\": \"a\", \"text\": \"b\"}]"),
                      CONTAINS("a record gives \"text\" twice"));
    const std::string first = "{\"text\": \"a\", \"labels\": []}\n\n";
    CHECK_THROWS_WITH(read("a.jsonl", first + "{\"text\" 1}"),
                      CONTAINS("not valid JSON at line 3, column 9") && !CONTAINS("line 1"));
    CHECK_THROWS_WITH(read("a.jsonl", first + "{\"text\": \"b\", \"labels\": \"god\"}"),
                      CONTAINS("line 3 has the label \"god\""));
    CHECK_THROWS_WITH(read("a.csv", "text,labels\na,\"[good\"\n"),
                      CONTAINS("line 2 says \"[good\", which begins as a JSON list and is none"));
}

TEST_CASE("labelled rows: a table has labels of its own unless a model knows them all", "[data]") {
    const TemporaryFolder folder;
    const auto labelsOf = [&](const std::string& text, LabelKind kind, const std::vector<std::string>& known = {}) {
        writeFile(folder / "a.csv", text);
        return readLabelledTable(folder / "a.csv", known, kind, false).labels;
    };
    using Labels = std::vector<std::string>;
    const std::string listed = "text,labels\nfine,good|calm\nrain,bad\nso,\n";
    CHECK(labelsOf(listed, LabelKind::Several) == Labels{"bad", "calm", "good"});
    CHECK(labelsOf(listed, LabelKind::Several, kMoods) == kMoods);
    CHECK(labelsOf(listed, LabelKind::Several, {"good", "bad"}) == Labels{"bad", "calm", "good"});
    CHECK(labelsOf("id,text,good,calm\n1,fine,1,0\n0,rain,0,0\n", LabelKind::Several) == Labels{"calm", "good"});
    CHECK(labelsOf("text,score\nfine,1.5\nrain,-2\n", LabelKind::Number) == Labels{"score"});
    CHECK(labelsOf("text,joy,fear,by\nfine,1.5,0,Ann\nrain,-2,3,Bob\n", LabelKind::Number) == Labels{"fear", "joy"});
    CHECK_THROWS_WITH(labelsOf("text,by\nfine,Ann\n", LabelKind::Number), CONTAINS("the table has 0 different labels"));
    CHECK_THROWS_WITH(labelsOf("text,good,calm\na,1,0\nb,2,x\nc,0,0\nd,1,1\n", LabelKind::Several),
                      CONTAINS("line 3 says \"x\" for \"calm\"; write 1 or 0"));
    CHECK_THROWS_WITH(labelsOf("text,score\na,1\nb,good\nc,2\n", LabelKind::Number),
                      CONTAINS("line 3 says \"good\" for \"score\"; write a number"));
    CHECK(labelsOf("text,score\na,\"[0,1,2,3,4,5,6,7,8,9,10]\"\n", LabelKind::Number)[2] == "score 2");
    const auto ofLines = [&](const std::string& text) {
        writeFile(folder / "a.jsonl", text);
        return readLabelledTable(folder / "a.jsonl", {}, LabelKind::Several, false);
    };
    for (const char* label : {"{\"good\": 1}", "[[\"good\"], null]", "[{\"name\": \"good\"}]"})
        CHECK_THROWS_WITH(ofLines(std::string("{\"text\": \"a\", \"labels\": ") + label + "}"),
                          CONTAINS("line 1 has the label") && CONTAINS("which is no name"));
    CHECK_THROWS_WITH(ofLines("{\"text\": \"a\"}\n{\"text\": \"b\", \"labels\": [\"good\"]}\n"),
                      CONTAINS("line 1 has no labels, and other lines have"));
    writeFile(folder / "a.csv", "text,good,calm\na,1,\nb,,0\nc,0,1\n");
    CHECK(readLabelledTable(folder / "a.csv", {}, LabelKind::Several, false).remark ==
          "a.csv: 2 empty cells of labels count as 0, the first in line 2");
    CHECK_THROWS_WITH(labelsOf("text,score\nfine,1e300\n", LabelKind::Number), CONTAINS("a model's numbers reach"));
}
