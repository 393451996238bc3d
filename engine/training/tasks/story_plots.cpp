#include "engine/training/tasks/story_grammar.h"

namespace attn::stories {
namespace {

Plot lost() {
    return {.things = toys(),
            .beats = {{"{A} had {O.a} that {A.he!} loved more than anything.",
                       "{A} owned {O.a}, and {A.he!} took {O.him!} everywhere.",
                       "For {A.his} birthday, {A} got {O.a} from {A.his!} {R.noun}.",
                       "Last winter, {R} gave {A.him!} {O.a}, and {A.he!} was very proud of {O.him!}."},
                      {"But one day, {O} {O.was} gone. {A} looked for {O.him!} all over {A.his!} [room|house|garden], "
                       "but {A.he!} could not find {O.him!}.",
                       "One afternoon, {A} reached into {A.his!} bag and saw that {O} {O.was} missing.",
                       "But when {A} came home from {G}, {A.he!} could not find {O} anywhere.",
                       "On the way to {G}, {O} fell out of {A.his!} bag, and {A.he!} did not notice."},
                      {"\"Have you seen my {O.noun}?\" {A} asked {A.his!} friend {B}.",
                       "{A} ran to {B} and asked {B.him!}, \"Do you know where my {O.whole} {O.is}?\"",
                       "\"I have lost my {O.whole},\" {A} said to {B}, and {A.he!} began to cry.",
                       "{A} told {B} that {A.he!} had lost {A.his!} {O.whole}. {B} saw how sad {A.he!} was."},
                      {"\"Yes,\" said {B}. \"I saw {O.him!} {P} [this morning|an hour ago|yesterday].\"",
                       "{B} thought for a while. \"I think that {O.he!} {O.is} {P},\" {B.he} said.",
                       "{B} smiled at {A}. \"Do not worry,\" {B.he} told {A.him!}. \"I saw {O.him!} {P}.\"",
                       "{B} remembered that {B.he!} had seen {O.him!} {P}, and {B.he!} told {A.him!} at once."},
                      {"So {A} [ran|hurried|went] to look {P}, and there {O.he!} {O.was}!",
                       "{A} looked {P}. There {O.was} {O.full}, just as {B} had said.",
                       "Together {AB.he!} went to look {P}. {A} [laughed|cheered] when {A.he!} saw {O}."},
                      {"{A} thanked {B} and gave {B.him!} [a big hug|an apple|a piece of cake].",
                       "{A} promised that {A.he!} would never lose {A.his!} {O.noun} again.",
                       "From that day on, {A} kept {O} close to {A.him!} and never lost {O.him!} again.",
                       "\"Thank you,\" said {A}. {B} told {A.him!} that {B.he!} was glad to help."}},
            .pause = 2};
}

Plot gift() {
    return {.things = toys(),
            .beats = {{"{A} had a friend named {B}. The next day was {B.his!} birthday.",
                       "{A.His} friend {B} had been ill, and {A} wanted to cheer {B.him!} up.",
                       "One day, {B} moved away from {A.his} street, and {A} wanted to give {B.him!} something."},
                      {"{A} knew that {B.he!} had always wanted {O.a}.",
                       "{B} had once told {A} that {B.he!} wished for {O.a}."},
                      {"So {A} took all {A.his!} coins and went to the [market|fair|shop] with {A.his!} {R.noun}.",
                       "But {A} had no money, so {A.he!} [washed dishes|picked apples|swept floors|carried wood] for "
                       "{A.his!} {R.noun} all week.",
                       "\"May I borrow some coins?\" {A} asked {R}, and {R.he!} gave {A.him!} five."},
                      {"\"How much {O.is} {O}?\" {A} asked the seller. Then {A} counted {A.his!} coins and smiled, for "
                       "{A.he!} had just enough.",
                       "In a window, {A} saw {O.a} and thought that {O.he!} {O.was} just right.",
                       "After a long search, {A} found {O.a}, and {A.he!} bought {O.him!} at once."},
                      {"The next morning, {A} hid {O} behind {A.his!} back and asked {B} to close {B.his!} eyes.",
                       "{A} wrapped {O} in paper and brought {O.him!} to {B}.",
                       "\"I have something for you,\" {A} told {B}, and {A.he!} gave {B.him!} {O}."},
                      {"\"This is the best day of my life!\" {B} cried, and {B.he!} hugged {A}.",
                       "{B} was so happy that {B.he!} [danced|jumped|skipped] around {B.his!} room.",
                       "When {B} saw {O}, {B.he!} could not stop smiling."},
                      {"{A} was happy too, because {B} liked {A.his!} present.",
                       "That night, {B} put {O.full} next to {B.his!} bed.",
                       "Whenever {B} looked at {O}, {B.he!} thought of {A}."}},
            .pause = 3};
}

Plot broken() {
    return {
        .things = fragileThings(),
        .beats =
            {{"{R.C} had {O.a} that {R.he!} kept on a high shelf.",
              "{A} was not allowed to touch {O.full}, because {R} had bought {O.him!} [long ago|far away].",
              "Of all {R.his} things, {R} loved {O.full} most, and {R.he!} cleaned {O.him!} every day."},
             {"One day, while {A} was [playing|dancing|running around], {A.he!} knocked {O} down, and {O.he!} broke.",
              "One day, {A} reached for {O}, but {O.he!} slipped out of {A.his!} hands and broke.",
              "One day, {A} threw {A.his!} ball too high, and {O} fell down and broke."},
             {"{A} was afraid that {R} would be angry with {A.him!}, so {A.he!} hid the pieces {P}.",
              "{A} hid the pieces {P} and told nobody, but {A.he!} could not eat or play.",
              "Nobody saw how {A} swept up the pieces and hid them {P}."},
             {"In the evening, {R} asked {A}, \"Where {O.is} my {O.noun}?\" {A} looked down at {A.his!} feet.",
              "Soon {R} came home. \"I cannot find my {O.noun},\" {R.he} said.",
              "{R.C} looked for {O.him!} everywhere and asked {A} whether {A.he!} had seen {O.him!}."},
             {"\"I broke {O.him!},\" said {A}. \"The pieces are {P}. I am sorry.\"",
              "Then {A} told {R} that {A.he!} had broken {O} and that the pieces were {P}.",
              "{A} began to cry, went to the place {P} and brought {R.him!} the pieces."},
             {"{R.C} was not angry, for {R.he!} saw that {A} was sorry.",
              "{R.C} took {A} in {R.his!} arms. \"I am glad that you told me,\" {R.he} said.",
              "\"That can happen to anyone,\" said {R}, and {R.he!} kissed {A}."},
             {"The next day, {AR.he!} mended {O} together, and soon {O.he!} {O.was} as good as new.",
              "{A} saved {A.his!} coins until {A.he!} could buy {R.him!} {O.a} like the first.",
              "Since then, {A} has always told {R} the truth, even when {A.he!} was afraid."}},
        .pause = 1};
}

Plot rescue() {
    return {
        .things = tools(),
        .beats =
            {{"One day, {A} was walking to {G} when {A.he!} heard a [soft|strange|loud] cry.",
              "On {A.his} way home from {G}, {A} stopped, because {A.he!} had heard something.",
              "One day, {A} went to {G} alone, although {A.his!} {R.noun} had told {A.him!} not to."},
             {"{A} looked around and saw {N.a} {K}. {N.C} could not get out, and {N.he!} [trembled|looked very sad].",
              "There {N.was} {N.a} {K}. {A} felt sorry for {N.him!}."},
             {"{A} was too small to help {N.him!} alone, so {A.he!} ran to fetch {B}.",
              "\"Please come quickly!\" {A} called to {B}. \"There {N.is} {N.a} {K}.\"",
              "{A} told {B} what {A.he!} had seen {K}, and {B} came at once."},
             {"\"We need {O.a},\" said {B}, and {B.he!} ran home to get {O.him!}.",
              "{B} brought {O.a}, because {B.he!} was [clever|strong|careful].",
              "{B} asked {B.his} {X.noun} for {O.a}, and {X.he!} gave {B.him!} {O.full}."},
             {"{A} held {O}, and {B} climbed to {N}. At last {N.he!} {N.was} free.",
              "With {O.full} {AB.he!} reached {N} and set {N.him!} free.",
              "{AB} worked with {O} until {AB.he!} had freed {N}."},
             {"{N.C} ran to {A} and licked {A.his!} hand.",
              "{A} took {N} home, washed {N.him!} and gave {N.him!} something to eat.",
              "{A} asked {R}, \"May I keep {N.him!}?\" And {R.he!} said yes."},
             {"\"You were brave,\" {B} told {A.him}, and {A} blushed.",
              "That night, {N} slept next to {A}, and {A.he!} was the happiest {A.kind} in the world.",
              "Now {N} {N.is} never alone, for {A} takes {N.him!} wherever {A.he!} goes."}},
        .pause = 3};
}

Plot trade() {
    return {.things = toys(),
            .beats = {{"{A} had {O.a}, and {A.his!} friend {B} had {Q.a}.",
                       "At {G}, {A} met {B}. {A} was carrying {O.a}, and {B} was carrying {Q.a}.",
                       "{A} had found {O.a} {P}, and {B} had got {Q.a} from {B.his!} {X.noun}."},
                      {"But {A} was tired of {A.his!} {O.noun} and liked the {Q.noun} of {A.his!} friend much better.",
                       "{A} looked at {Q}, and {A.he!} wished that {A.he!} could have {Q.him!}.",
                       "All day, {A} thought about {Q}, and {B} thought about {O}."},
                      {"\"If you give me your {Q.noun}, you may have my {O.noun},\" {A} told {B}.",
                       "{A} asked {B} whether {B.he!} would give {A.him!} {Q.full} for {O.full}.",
                       "\"Would you like to trade?\" asked {A}, and {A.he!} held out {O}."},
                      {"{B} thought about it, and then {B.he!} nodded.",
                       "\"I would love to,\" said {B}, and {B.he!} handed {Q} to {A}.",
                       "First {B} asked {B.his!} {X.noun}, and {X.he!} said that {B.he!} could do as {B.he!} liked."},
                      {"Now {A} had {Q.full}, and {B} had {O.full}.",
                       "So {Q.full} went home with {A}, and {O.full} went home with {B}.",
                       "{A} took {Q} and gave {B.him!} {O.full}."},
                      {"In the evening, {A} showed {R} {A.his!} new {Q.noun}, and {R.he!} liked {Q.him!} too.",
                       "{A} missed {A.his!} old {O.noun} a little, but {A.he!} kept {A.his!} word.",
                       "{AB} were both glad, because {AB.he!} had what {AB.he!} wanted."}},
            .pause = 2};
}

Plot trip() {
    return {.things = toys(),
            .beats = {{"{A} wanted to go to {G} with {A.his!} {R.noun}, for {A.he!} had never been there.",
                       "\"Shall we go to {G}?\" {R} asked {A}. {A} said that {A.he!} would love to.",
                       "Every year on a {D}, {A} went to {G}. This time {A.he!} took {A.his!} {R.noun} along."},
                      {"{W.State}, so {A} put on {A.his!} {W.wear}, and {R} put on {R.his!} {W.wear} too.",
                       "Because {W.state}, {R} told {A} to take {A.his!} {W.wear}.",
                       "{W.State}, but {A} had forgotten {A.his!} {W.wear}, so {R} gave {A.him!} {R.his!} {W.wear}."},
                      {"On the way, {A} was {S.state}, because {A.he!} {S.cause}. So {A.he!} {S.relief}.",
                       "On the way, {R} was {S.state}, because {R.he!} {S.cause}. So {R.he!} {S.relief}.",
                       "Halfway there, {AR.he!} met {B}. \"Where are you going?\" {B} asked, and {A} told {B.him!}."},
                      {"At last {AR.he!} came to {G}, and {R} showed {A} where {R.he!} had played as a child.",
                       "When {AR} came to {G}, {AR.he!} could hardly believe {AR.his!} eyes.",
                       "{A} had thought that {G} would be small, but now {A.he!} saw that it was not."},
                      {"There {A} found {O.a} lying {P} and asked {R}, \"May I keep {O.him!}?\"",
                       "{R.C} bought {A} {O.a}, and {A.he!} thanked {R.him!} three times.",
                       "An old man gave {A} {O.a}, because {A.he!} had [helped him|sung for him|carried his bag]."},
                      {"At home, {A} put {O} on {A.his!} shelf. Whenever {A.he!} saw {O.him!}, {A.he!} thought of {G}.",
                       "\"Thank you for taking me to {G},\" {A} told {R}, and {A.he!} kissed {R.him!}.",
                       "That night, {A} dreamed of {G}, and in {A.his!} dream {O} could talk."}},
            .pause = 0};
}

Plot hideAndSeek() {
    return {
        .things = toys(),
        .beats =
            {{"{A} and {A.his} friend {B} were playing hide and seek.",
              "\"Let us play hide and seek,\" {B} said to {A}, and {A} agreed.",
              "It was too hot to work, so {A} went out to play with {A.his!} friend {B}."},
             {"{A} closed {A.his!} eyes and counted to [ten|twenty|fifty], and {B} hid {P}.",
              "{B} hid {P} while {A} covered {A.his!} face with {A.his!} hands.",
              "First {A} had to search. {B} ran away as fast as {B.he!} could and hid {P}."},
             {"{A} looked {P2} and {P3}, but {A.he!} could not find {B.him!}.",
              "{A} searched {P2}, but {B.he!} was not there. Then {A} searched {P3}, but {B.he!} was not there either.",
              "\"Have you seen {B}?\" {A} asked {R}. But {R.he!} only [smiled|laughed] and shook {R.his!} head."},
             {"Then {B} sneezed, because {B.he!} had a cold.", "Suddenly {A} saw {B.his!} {Q.whole} {P}.",
              "Suddenly {N.a} ran past {B}, and {B} cried out."},
             {"\"I see you!\" cried {A}. \"You are {P}!\"", "{A} crept up and found {B.him!} {P}.",
              "So {A} looked {P}, and there {B.he!} was."},
             {"{B} laughed. \"You are good at this,\" {B.he} told {A.him!}.",
              "Now it was {A.his!} turn to hide, and {B} closed {B.his!} eyes.",
              "\"How did you find me?\" asked {B}. {A} told {B.him!} nothing."}},
        .pause = 3};
}

Plot surprise() {
    return {.things = handmadeThings(),
            .beats = {{"{A} wanted to surprise {A.his!} {R.noun}, because {R.he!} had been so [kind|busy|lonely].",
                       "It was almost winter, and {R} was often cold, so {A} wanted to give {R.him!} something.",
                       "On {D}, {R} had {R.his!} birthday, and {A} had no present for {R.him!}."},
                      {"{A} decided to make {R.him!} {O.a}.", "So {A} decided that {A.he!} would make {O.a}."},
                      {"But {A} did not know how to do it, so {A.he!} asked {B} to teach {A.him!}.",
                       "\"Can you help me?\" {A} asked {B}. \"I want to make {O.a} for my {R.noun}.\"",
                       "{A} told {B} about {A.his!} plan, and {B} offered to help {A.him!}."},
                      {"{B} showed {A.him!} how to begin, and {B.he!} was very patient.",
                       "For three days {AB.he!} worked {H} and told nobody.",
                       "{AB} worked in secret {H}, where {R} never went."},
                      {"Once, {A} made a mistake and wanted to give up, but {B} told {A.him!} to try again.",
                       "Once, {R} came by and asked what {AB.he!} were doing {H}. \"Nothing,\" said {A}.",
                       "Once, {A} hurt {A.his!} finger, but {A.he!} went on."},
                      {"At last {O} {O.was} ready. {A} wrapped {O.him!} in paper and gave {O.him!} to {R}.",
                       "When {O} {O.was} ready, {A} gave {R.him!} {O.full} with a kiss."},
                      {"\"Did you make {O.him!} yourself?\" asked {R}. {A} answered that {B} had helped {A.him!}.",
                       "{R.C} was so proud that {R.he!} showed {O} to everyone.",
                       "{R.C} said that {R.he!} would use {O} every day, and {R.he!} hugged {A}."}},
            .pause = 3};
}

Plot letter() {
    return {.things = toys(),
            .beats =
                {{"{A} missed {A.his!} {X.noun}, who lived far away [across the sea|behind the mountains|in the city].",
                  "For a whole year, {A} had not seen {A.his!} {X.noun}, because {X.he!} worked in another country.",
                  "Every night before {A.he!} fell asleep, {A} thought of {A.his!} {X.noun}, who was far away."},
                 {"So {A} sat down and wrote a letter to {X.him!}.",
                  "\"Why do you not write to your {X.noun}?\" {B} asked {A}. So {A.he!} wrote {X.him!} a letter."},
                 {"In the letter, {A} told {X.him!} about {O.a} that {A.he!} had found {P}.",
                  "{A} wrote that {A.he!} had [learned to swim|planted a tree|lost a tooth|won a race] and that "
                  "{A.he!} had a friend named {B}.",
                  "{A} asked {X} when {X.he!} would come and drew {X.him!} a picture of {N.a}."},
                 {"A week later, {X} answered that {X.he!} would come on {D}.",
                  "Soon {A} got an answer. \"I will come on {D},\" {X} had written."},
                 {"On {D}, {A} waited at the [gate|station|harbor] until {A.he!} saw {X.him!}.",
                  "When {D} came, {A} was so excited that {A.he!} could not eat.",
                  "{A} could hardly wait. At last it was {D}, and {X} stood at the door with {X.his!} bags."},
                 {"{X.C} lifted {A} up and said that {X.he!} had missed {A.him!} too.",
                  "{X.C} opened {X.his!} bag and took out {Q.a}. \"I thought of you when I saw {Q.him!},\" {X.he} told "
                  "{A.him!}.",
                  "{A} ran to {X} and held {X.him!} so tightly that {X.he!} laughed."},
                 {"{AX} talked until midnight, for {AX.he!} had so much to tell.",
                  "\"Please stay,\" said {A}, and {X} promised {A.him!} to stay until spring.",
                  "That was the best {D} that {A} had ever had."}},
            .pause = 4};
}

Plot promise() {
    return {
        .things = toys(),
        .beats = {{"{B} was ill and had to stay in bed, so {A} promised to bring {B.him!} {O.a} on {D}.",
                   "\"I will lend you my {O.whole} on {D},\" {A} promised {B}, and {B} was very glad.",
                   "{A} had borrowed {O.a} from {B} and had promised {B.him!} to bring {O.him!} back on {D}."},
                  {"But on {D}, {A} went to {G} instead and forgot {A.his!} promise.",
                   "But when {D} came, {A} saw {N.a} {P} and played with {N.him!} until dark.",
                   "But on {D}, {A} was {U.state}, because {A.he!} {U.cause}, and {A.he!} did not think of {B}."},
                  {"{B} waited for {A} at {B.his!} window all day, and {B.he!} grew sadder and sadder.",
                   "\"Where is {A}?\" {B} asked {B.his!} {X.noun}, but {X.he!} did not know.",
                   "All day {B} waited, but {A} did not come to {B.him!}."},
                  {"Late at night, {A} remembered {A.his!} promise and felt ashamed.",
                   "\"Did you go to see {B}?\" asked {R}. Then {A} remembered what {A.he!} had promised.",
                   "In bed, {A} thought of {O} and sat up, because {A.he!} had forgotten {B}."},
                  {"The next morning, {A} ran to {B} with {O}. \"I am sorry,\" {A.he} told {B.him!}. \"I promised to "
                   "come on {D}.\"",
                   "As soon as it was light, {A} brought {B.him!} {O.full} and told {B.him!} that {A.he!} was sorry."},
                  {"{B} forgave {A.him!}, and soon {AB.he!} were laughing again.",
                   "\"Never mind,\" said {B}, and {B.he!} held out {B.his!} hand.",
                   "{B} was still a little sad, but {B.he!} took {O} and thanked {A.him!}."},
                  {"Since then, {A} has never forgotten a promise, and {A.he!} writes everything down.",
                   "From then on, {A} visited {B.him!} every {D}.",
                   "{A} learned that {A.his!} friends count on {A.him!}."}},
        .pause = 3};
}

Plot noise() {
    return {
        .things = handmadeThings(),
        .beats = {{"{A} was afraid of the dark, and {A.he!} did not want anyone to know.",
                   "One night, {A} was alone in {A.his!} room and could not sleep.",
                   "{A} had stayed up late to finish {A.his!} book, and the whole house was silent."},
                  {"Suddenly {A} heard a noise {H}. {A} pulled {A.his!} blanket over {A.his!} head.",
                   "Then something moved {H}, and {A} held {A.his!} breath.",
                   "Then {A} saw two [green|bright|round] eyes {H}, and {A.his!} heart beat fast."},
                  {"{A} called {A.his!} {R.noun}, and {R.he!} came at once.", "{A} ran to {R} and woke {R.him!} up.",
                   "\"Help!\" cried {A}, so loudly that {R} dropped {R.his!} {O.noun}."},
                  {"\"There is something {H},\" {A} whispered, and {A.he!} held on to {R}.",
                   "{A} told {R.him} that {A.he!} had heard something {H}.",
                   "\"What is it?\" asked {R}. {A} pointed to the place {H}, for {A.he!} could not speak."},
                  {"{R.C} lit a candle and looked {H}. It was only {N.a}!",
                   "{R.C} was not afraid. {R.He!} went to look {H} and came back with {N.a} in {R.his!} arms."},
                  {"{N.C} {N.was} more afraid than {A} was, so {A.he!} gave {N.him!} some [milk|bread|cheese].",
                   "{A} laughed, because {A.he!} had been afraid of {N}.",
                   "\"Poor thing,\" said {A}, and {A.he!} put {N.him!} in a basket by the fire."},
                  {"After that, {A} was never afraid of the dark again, for {A.he!} knew that {R} was near.",
                   "In the morning, {A} told {B} about {N}, but {B} did not believe {A.him!}.",
                   "{R.C} stayed with {A} until {A.he!} fell asleep."}},
        .pause = 5};
}

Plot garden() {
    return {
        .things = crops(),
        .beats =
            {{"In spring, {A} wanted to grow {O.a}, so {A.he!} asked {A.his!} {R.noun} for some seeds.",
              "{A} got some seeds from {A.his!} {R.noun}. \"From these you can grow {O.a},\" {R.he} told {A.him!}.",
              "{R.C} had a garden, and {A} wanted to have {A.his!} own."},
             {"{A} put the seeds into the ground {Y} and gave them water every day.",
              "Where should the seeds go? {A} chose a sunny place {Y} and dug with {A.his!} hands."},
             {"{B} laughed at {A.him!}. \"Nothing grows there,\" {B.he} said.",
              "{B} asked {A} what {A.he!} was doing {Y}, and {A.he!} told {B.him!}.",
              "\"May I help you?\" asked {B}. {A} said yes and gave {B.him!} a spade."},
             {"One night, {N.a} came to eat the leaves, but {A} chased {N.him!} away.",
              "It did not rain for weeks, so {A} carried water from {G} until {A.his!} arms hurt.",
              "Weeks went by and nothing happened, but {A} did not lose {A.his!} hope."},
             {"Then one [morning|evening], {A} saw {O.a} {Y}! {A} was so glad that {A.he!} shouted.",
              "In summer, there {O.was} {O.a} so beautiful that everyone came to see {O.him!}."},
             {"{A} gave {O.full} to {B}, because {B.he!} had [never had a garden|been so curious|no flowers at home].",
              "\"I was wrong,\" said {B}, and {B.he!} asked {A} to forgive {B.him!}.",
              "{R.C} was proud of {A} and called {A.him!} a true gardener."},
             {"The next year, {AB.he!} planted a whole field together.",
              "{A} still goes to the place {Y} every day, and {A.he!} always takes {A.his!} {R.noun} along."}},
        .pause = 3};
}

} // namespace

const Beat& introductions() {
    static const Beat kBeat{
        "Once upon a time, there was a [little|clever|quiet|cheerful] {A.kind} named {A}. {A.He!} lived {L} with "
        "{A.his!} {R.noun}.",
        "There was once a [young|brave|shy|curious] {A.kind} named {A} who loved {A.his!} {R.noun} very much.",
        "In a house {L} lived a {A.kind} named {A}. Every [morning|evening], {A.he!} [fed the hens|swept the "
        "floor|sang to the birds] with {A.his!} {R.noun}.",
        "This is the story of a {A.kind} named {A}, who lived {L}."};
    return kBeat;
}

const Beat& openings() {
    static const Beat kBeat{
        "{A} lived {L} with {A.his!} {R.noun}.",
        "Everyone {L} knew {A}, because {A.he!} was always [singing|laughing|asking questions|helping someone].",
        // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one sentence over two lines
        "It was [the first day of spring|a quiet day|the last day of summer|a holiday], and {A} was busy in {A.his!} "
        "[room|garden|kitchen].",
        "Long ago, {A} and {A.his!} friend {B} lived {L}, and {AB.he!} did everything together.",
        "{A} was {T.state}, because {A.he!} {T.cause}. So {A.he!} {T.relief}.",
        "One [cold|warm|bright] [morning|evening], {A} was sitting with {A.his!} {R.noun}, and {AR.he!} were talking."};
    return kBeat;
}

const Beat& interludes() {
    static const Beat kBeat{"By then, {A} was {S.state}, because {A.he!} {S.cause}. So {A.he!} {S.relief}.",
                            "\"Why are you so {S.state}?\" asked {R}. {A} said that {A.he!} {S.cause}.",
                            "{W.State}, and {A} was glad that {A.he!} had {A.his!} {W.wear}.",
                            "{R.C} told {A} to put on {A.his!} {W.wear}, because {W.state}.",
                            "\"Be careful,\" said {R}, and {R.he!} kissed {A}.",
                            "{M.A} came by, and {A} [waved to|talked to|looked at] {M.him!} for a while.",
                            "{A} wondered what {A.his!} {X.noun} would say, and {A.he!} smiled.",
                            "\"Are you {S.state}?\" asked {R}. {A} shook {A.his!} head."};
    return kBeat;
}

const std::vector<Plot>& plots() {
    static const std::vector<Plot> kPlots{lost(),        gift(),     broken(), rescue(),  trade(), trip(),
                                          hideAndSeek(), surprise(), letter(), promise(), noise(), garden()};
    return kPlots;
}

} // namespace attn::stories
