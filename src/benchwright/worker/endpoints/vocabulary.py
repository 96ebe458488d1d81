"""The words that synthetic prompts are made of: 1,024 common English words, and the text that they give.

Behind a space each of them is one token in the vocabularies of GPT-2, GPT-4, Claude 2, DeepSeek V3, Qwen and in two of
Mistral's, so that a number of words is nearly a number of tokens wherever a server runs. None needs escaping in JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import shake_128
from itertools import cycle
from operator import getitem

HEAD = 3  # words at the front that tell texts apart: a thousand million of them
_RUN = 4  # words that are drawn together; one by one takes four times as long
_POOLS = 32  # of 256 runs each, so that a byte names one; more of them would not stay near the processor


class WordSource:
    """Texts of so many words, drawn by a key: equal keys give equal texts, in every process and on every machine."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = tuple(words)
        self._pools = _draw_pools(self._words)

    def text(self, key: str, words: int, number: int | None = None) -> str:
        """So many words. Of texts with a number of their own, no two begin with the same words.

        They differ in their first word as long as there are fewer texts than words in the vocabulary, and within the
        first three words always.
        """
        runs, rest = divmod(max(0, words - HEAD), _RUN)
        alone = HEAD + rest
        drawn = shake_128(key.encode()).digest(2 * alone + runs)
        singles = _choose(self._words, drawn[: 2 * alone])
        if number is not None:
            singles[:HEAD] = self._head(number)
        if not runs:
            return " ".join(singles[:words])
        return " ".join([*singles[:HEAD], *map(getitem, cycle(self._pools), drawn[2 * alone :]), *singles[HEAD:]])

    def _head(self, number: int) -> list[str]:
        head = []
        for _ in range(HEAD):
            number, place = divmod(number, len(self._words))
            head.append(self._words[place])
        return head


def first_words(text: str, words: int) -> str:
    """The beginning of a text that is made of words with one space between them."""
    return " ".join(text.split(" ", words)[:words])


@lru_cache(maxsize=4)
def _draw_pools(words: tuple[str, ...]) -> list[list[str]]:
    chosen = _choose(words, shake_128(b"runs").digest(2 * _RUN * 256 * _POOLS))
    runs = [" ".join(chosen[i : i + _RUN]) for i in range(0, len(chosen), _RUN)]
    return [runs[i : i + 256] for i in range(0, len(runs), 256)]


def _choose(words: Sequence[str], drawn: bytes) -> list[str]:
    """Two bytes name a word."""
    known = len(words)
    return [words[(low | high << 8) % known] for low, high in zip(drawn[::2], drawn[1::2], strict=True)]


_TEXT = """
able about above act action active actual add after again age agent ago agree air album all allow alone along
already also always am among amount and angle animal another answer any anything apple apply area arm around art
as aside ask asset at audio author avoid aware away baby back bad bag ball band bank bar base basic batch be bear
because bed been before begin being below bench best better between big bike bill bird birth bit block blue board
boat body bone book boost born both bottom bound box boy brain branch brand bread break bridge brief bright bring
broken brown brush build building built bus business but buy by call came camp can cannot capital car card care
carry case cash catch cause cell center central chain chair change chapter charge chart check chief child children
choice choose church circle city claim class clean clear click clock close closed cloth cloud club coal coat code
cold collect color come common company compare complete condition consider continue control cook cool copy corn
correct cost could count country course court cover cream create crew cross cry culture cup current daily dark
data date daughter day deal deck deep degree delay depth describe design detail develop did direct direction dish
distance do doctor does dog done door double down draw dream drive drop dry due during each ear early earth east
easy eat edge effect egg eight either elect electric element else empty end energy engine enter entry equal error
even event ever every example except exchange exist expect express extra eye face fact factory fail fair faith
fall false family far farm fast father feed feel fell felt few field figure fill film final finally find fine
finger fire first fish fit five flag flash flat flight floor flow flower fly focus follow food foot for force
foreign forest form former forth forum forward found four frame free fresh friend from front fruit fuel full fully
fun fund future gain game gas gate general get gift girl give given glass go goal gold gone good got government
grade grand grant grass gray great green ground group grow growth guard guess guest guide had hair half hall hand
happy hard harm has hat have he head health heard heart heat heavy height held help her here high hill him his
history hold hole home hope horse hospital host hot hour house how human ice idea ideal if image important in inch
include index inner input inside instead interest into iron is issue it item its job join joint joy jump just keep
kept key kind king know known label lake land language large last late later law lay layer lead leader leaf learn
least leave led left leg legal less let letter level life lift light like likely limit line lion lip list listen
lists little live local logic long look lose loss lost lot love low lower luck machine made magic main major make
man manage many map mark market married mass master match material may maybe me meal mean measure media medical
meet member memory men mental message met metal method middle might mile million mind mine minor miss mode model
modern moment money month moon more most mother motion motor mouse mouth move movie much music must my name nation
natural nature near neck need never new news next nice night nine no none nor normal north not note nothing notice
now number object of off offer office often oh oil old on once one only open or orange order organ original other
our out outside over own owner page paid pair panel panic paper parent park part party pass past patch path
pattern pause pay peace people per perfect perhaps period person phase phone photo phrase physical pick picture
piece place plain plan plane planet plant plate play player please plot plus point pole policy poor popular port
pose position possible post power practice prepare present press pretty price prime print private probably problem
process product program proof prove public pull push put quality quarter question queue quick quiet quite quote
radio rain raise ran range rate rather ratio reach read ready real really reason record red region relation
remember remove repeat reply report require rest result return rich ride right ring rise risk river road robot
rock role roll room root rose rough round route row rule run safe said salt same sand sat save say scale scene
school science scope score screen sea search season seat second secret section see seed seek seen self sell send
sense sent serve service set seven shake shall shape share sharp she sheet shell shift ship shirt shop shore short
shot should show shown side sign signal similar simple since sing single sit site six size skill skin sky sleep
slice slide slow small smart so social soft sold solid some son song soon sort sound source south space special
speed spin split spot spring square staff stage stand standard star start state station stay stem step stick still
stock stone stood stop store storm story stream street strong student study stuff style subject success such suit
sun super support sure surface system table tail take talk task tax team tell temperature ten term test text than
thank that the their them theme then there these they thin thing think third this those though thought three
through throw thus tie tight time tiny tip title to today tone too took tool top topic total touch tour town trace
track trade train travel tree trip true trust truth try tube turn two type under union unit until up upon upper
urban us usage use used usual valid value very video view visit voice vote wait wake walk wall want warm was wash
watch water wave way we weak wealth wear weather week weight well went were west what wheel when where whether
which while who whole whose why wide width wife wild will win wind window wing with within without woman women
wood word work worker world worth would write written wrong yard year yellow yes yet you young your zero zone
"""
WORDS = tuple(_TEXT.split())
CHARACTERS = 1 + sum(map(len, WORDS)) / len(WORDS)  # of a word and the space behind it, on average
