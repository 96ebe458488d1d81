"""Badges: texts stay texts, and nothing in the picture acts."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from benchwright.exchange.exporters.badge import COLOURS, LONGEST, svg
from benchwright.records import Verdict

SVG = "{http://www.w3.org/2000/svg}"


@given(st.text(), st.text(), st.sampled_from(Verdict))
def test_whatever_it_says_it_is_a_picture_of_two_texts(label: str, value: str, verdict: Verdict) -> None:
    picture = ElementTree.fromstring(svg(label, value, verdict))
    assert {one.tag.removeprefix(SVG) for one in picture.iter()} == {"svg", "title", "clipPath", "rect", "g", "text"}
    allowed = {"width", "height", "role", "aria-label", "id", "rx", "x", "y", "fill", "clip-path"}
    allowed |= {"text-anchor", "font-family", "font-size", "textLength"}
    assert {name for one in picture.iter() for name in one.attrib} <= allowed
    texts = [one.text or "" for one in picture.iter(f"{SVG}text")]
    assert len(texts) == 2 and all(0 < len(text) <= LONGEST for text in texts)
    assert COLOURS[verdict] in [one.get("fill") for one in picture.iter(f"{SVG}rect")]


def test_the_title_says_it_to_those_who_cannot_see_it() -> None:
    assert "<title>a &lt;b&gt; &quot;c&quot;: 12 ms</title>" in svg('a <b> "c"', "12 ms", Verdict.SAME)
