import sample_runs as samples
from benchwright.records import Run
from benchwright.report.markdown import escape_markdown, run_markdown


def test_a_github_table_with_notes_below(run: Run) -> None:
    lines = run_markdown(run).splitlines()
    assert lines[0].startswith("| case | runtime | batch\\_size | copies | median latency (ms) | p99 (ms) |")
    assert lines[1].count("---:") == 5
    assert lines[2].startswith("| model.onnx | onnxruntime | 1 | 1 | 1.799 ± 0.020 |")
    assert lines[6].endswith("| 3 | failed |")
    text = "\n".join(lines)
    assert "**noisy-machine** (×2)" in text and "torch cannot read" in text and "```text\nloading shard 0" in text


def test_every_line_of_the_table_has_the_same_number_of_cells(run: Run) -> None:
    evil = samples.rename(run, ["a|b", "<img src=x>", "@everyone `x` $y$", "two\nlines"])
    table = [line for line in run_markdown(evil).splitlines() if line.startswith("|")]
    counts = {line.replace("\\|", "").count("|") for line in table}
    assert len(counts) == 1
    assert "<img" not in "\n".join(table).replace("\\<img", "")


def test_escaping() -> None:
    assert escape_markdown("a|b_c <d> @e") == "a\\|b\\_c \\<d\\> \\@e"
