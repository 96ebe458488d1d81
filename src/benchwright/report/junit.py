"""A gate as JUnit XML, which every CI can show: a test for each metric of each case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from benchwright.analysis.gate import Breach, Checked, Gate
from benchwright.report.gate_text import headline

_SUITE = "benchwright"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(gate: Gate) -> str:
    """The document. A breach is a failure, a muted case is skipped."""
    tests = [test for case in gate.cases for test in _tests(case)]
    failed = sum(test.find("failure") is not None for test in tests)
    skipped = sum(test.find("skipped") is not None for test in tests)
    counts = {"tests": str(len(tests)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    root = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts})
    suite.extend(tests)
    ElementTree.SubElement(suite, "system-out").text = _clean(headline(gate))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _tests(case: Checked) -> Iterator[ElementTree.Element]:
    """One test for the case itself, and one for each metric."""
    whole = [breach for breach in case.breaches if not breach.metric]
    yield _test(case, "measured", whole, case.failure or "; ".join(case.compared.notes))
    for metric in case.compared.metrics:
        said = f"{metric.before_text} to {metric.after_text}, ratio {metric.ratio_text}: {metric.sentence}"
        yield _test(case, metric.name, [b for b in case.breaches if b.metric == metric.name], said)


def _test(case: Checked, name: str, breaches: list[Breach], said: str) -> ElementTree.Element:
    test = ElementTree.Element("testcase", classname=_clean(case.name), name=_clean(name), time="0")
    if case.muted:
        ElementTree.SubElement(test, "skipped", message="muted")
    for breach in breaches[:1]:  # one test has one outcome
        failure = ElementTree.SubElement(
            test, "failure", message=_clean(breach.sentence), type=_clean(breach.condition)
        )
        failure.text = _clean(said)
    if said and not breaches:
        ElementTree.SubElement(test, "system-out").text = _clean(said)
    return test


def _clean(text: str) -> str:
    """Text without what XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
