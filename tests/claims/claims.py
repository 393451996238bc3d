"""Makes the results of training again that the documents claim, and prints them beside what is claimed.

    claims.py CLI [NAME ...] [--text FILE] [--list] [--check]

A NAME chooses the claims whose names begin with it: "pixels", "init/xavier". Without one, all are made: hours on two
cores. claims.json holds a claim in each entry:

    name      what it is about
    document  where it stands
    said      the words in which it stands there, with the claimed number in them
    command   arguments of attention-cli; {run} is a new folder, {text} the file of --text
    reads     the number to read: metric or loss of the held-out examples, test (the metric of the test split), or a
              regular expression for the last match
    minutes   about how long it takes on two cores

--check only looks whether the words still stand in the documents, in no time.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
READS = {
    "metric": r"^validation loss [\d.]+  [a-z ]+ ([\d.]+)",
    "loss": r"^validation loss ([\d.]+)",
    "test": r"^test loss [\d.]+  [a-z ]+ ([\d.]+)",
}


def claims():
    with open(os.path.join(HERE, "claims.json"), encoding="utf-8") as file:
        return json.load(file)


def words_of(document):
    """A document's words, with one blank between them and without the quotation marks of source code."""
    with open(os.path.join(ROOT, document), encoding="utf-8") as file:
        text = file.read()
    if document.endswith(".cpp"):
        text = re.sub(r'"\s*\n\s*"', "", text)
    return " ".join(text.split())


def missing(entries):
    """The claims whose words do not stand in their documents."""
    return [entry for entry in entries if " ".join(entry["said"].split()) not in words_of(entry["document"])]


def measured(cli, entry, text):
    """Runs a claim's command. @return the number, as printed"""
    with tempfile.TemporaryDirectory() as folder:
        command = [part.format(run=os.path.join(folder, "run"), text=text) for part in shlex.split(entry["command"])]
        done = subprocess.run([cli, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}, check=False)
    found = re.findall(READS.get(entry["reads"], entry["reads"]), done.stdout, re.MULTILINE)
    if found:
        return found[-1]
    return "failed: " + (done.stdout.strip().splitlines() or ["no answer"])[-1]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cli")
    options.add_argument("names", nargs="*")
    options.add_argument("--text", help="tinyshakespeare.txt, which some claims are about")
    options.add_argument("--list", action="store_true", help="only print names, documents and commands")
    options.add_argument("--check", action="store_true", help="only check that the documents have the words")
    given = options.parse_args()
    chosen = [entry for entry in claims()
              if not given.names or any(entry["name"].startswith(name) for name in given.names)]
    if not chosen:
        sys.exit("no claim has this name; --list prints all")
    if given.check:
        wrong = missing(chosen)
        for entry in wrong:
            print(f"{entry['document']} no longer says \"{entry['said']}\" ({entry['name']})")
        print(f"{len(chosen) - len(wrong)} of {len(chosen)} claims stand in the documents")
        sys.exit(1 if wrong else 0)
    if given.list:
        for entry in chosen:
            print(f"{entry['name']}: {entry['said']} ({entry['document']}, {entry['minutes']} min)\n"
                  f"    attention-cli {entry['command']}")
        return
    print(f"{'claim':34} {'claimed':>10} {'measured':>10} {'s':>6}  document")
    for entry in chosen:
        if "{text}" in entry["command"] and not given.text:
            print(f"{entry['name']:34} {entry['claimed']:>10} {'-':>10} {'':>6}  needs --text tinyshakespeare.txt")
            continue
        start = time.monotonic()
        found = measured(given.cli, entry, given.text)
        print(f"{entry['name']:34} {entry['claimed']:>10} {found:>10} {time.monotonic() - start:6.0f}  "
              f"{entry['document']}", flush=True)


if __name__ == "__main__":
    main()
