from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright import cli, schema
from price_lists import OWN
from sample_runs import make_run

Print = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Print:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "prices.yaml").write_text(OWN, encoding="utf-8")
    for name, slower in (("small", 1.0), ("big", 0.4)):
        (tmp_path / f"{name}.json").write_text(schema.dumps(make_run(name, slower=slower)), encoding="utf-8")

    def called(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return called


def test_runs_are_compared_by_what_they_cost_with_what_that_rests_on(call: Print, tmp_path: Path) -> None:
    prices = ("--price-of", "small.json=aws/c7i.large", "--price-of", "big.json=desk")
    code, out, _ = call("cost", "small.json", "big.json", *prices, "--market", "spot", "-o", "cost.svg")
    assert code == 0
    assert "cost of 1,000,000 items" in out and "desk" in out and "spot" in out
    assert "It rests on: " in out and "aws/c7i.large in eu-central-1, on-demand, 2026-11-02" in out
    assert "machines that work 100% of their time" in out
    assert "No cost for model.onnx runtime=torch" in out  # it failed
    assert (tmp_path / "cost.svg").stat().st_size > 1000


def test_programs_get_every_line_with_its_price_and_its_interval(call: Print) -> None:
    code, out, _ = call("cost", "small.json", "--price", "0.36USD/h", "--per", "1000", "--json")
    assert code == 0
    data = json.loads(out)["data"]
    assert sum(line["is_best"] for line in data["lines"]) == 1
    for line in data["lines"]:
        assert line["cost"]["low"] <= line["cost"]["point"] <= line["cost"]["high"]
        assert (line["work"]["count"], line["currency"]) == (1000, "USD")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--price-of", "smal.json=desk"), "did you mean 'small.json'"),
        (("--price-of", "desk"), "not NAME=PRICE"),
        (("--price", "nothing"), "neither an amount nor a machine"),
        (("--work", "througput", "--price", "1"), "did you mean 'throughput'"),
        (("--market", "sport", "--price", "1"), "did you mean 'spot'"),
        (("--per", "nan", "--price", "1"), "--per: nan is not a number of items"),
        (("--per", "1e999", "--price", "1"), "--per: inf is not a number of items"),
        (("--price", "-1USD/h"), "not an amount of money"),
        (("--utilisation", "120%", "--price", "1"), "between 0 and 100"),
        (("-o", "cost.txt", "--price", "1"), "not a picture file"),
        (("--price", "1EUR/h", "--objective", "cost_per_million<1USD"), "cannot be judged: the cost is in EUR"),
    ],
)
def test_what_is_wrong_is_said_with_a_remedy(call: Print, arguments: tuple[str, ...], says: str) -> None:
    code, _, err = call("cost", "small.json", *arguments)
    assert code == 2 and says in err


def test_old_prices_currencies_apart_and_markets_without_a_price_are_said(call: Print, tmp_path: Path) -> None:
    with (tmp_path / "prices.yaml").open("a") as file:
        file.write("  rack: {price: 900 USD, lifetime: 3y, fetched_at: 2020-01-01}\n")
    named = ("--price-of", "small.json=rack", "--price-of", "big.json=0.2EUR/h")
    code, out, _ = call("cost", "small.json", "big.json", *named, "--market", "reserved-3y", "--utilisation", "0.4%")
    assert code == 0
    assert "Old prices: the price is " in out and "days old (rack, own, 2020-01-01)" in out
    assert "Not compared, as paid in another currency or for other work: " in out
    assert "no price of rack on the market reserved-3y is known" in out
    assert "machines that work 0.4% of their time" in out
    _, told, _ = call("cost", "small.json", "--price", "rack", "--json")
    assert "days old" in json.loads(told)["data"]["doubts"][0]


def test_lines_that_would_have_one_name_are_told_apart_by_their_runs(call: Print) -> None:
    _, out, _ = call("cost", "small.json", "big.json", "--price", "aws/c7i.large")
    assert "on aws/c7i.large, on-demand (big.json)" in out


def test_without_a_price_it_is_said_how_to_give_one(call: Print) -> None:
    code, out, _ = call("cost", "small.json")
    assert code == 0 and "--price-of NAME=PRICE" in out


def test_a_list_is_imported_shown_used_and_forgotten(call: Print, tmp_path: Path) -> None:
    from price_lists import GPUHUNT

    (tmp_path / "aws.csv").write_text(GPUHUNT, encoding="utf-8")
    assert call("prices", "import", "aws.csv", "--day", "2026-11-16")[1].startswith("aws: 2 prices of gpuhunt")
    assert "0.8048 USD/hour" in call("prices", "list", "g6.xlarge")[1]
    code, out, _ = call("prices", "show", "aws/g6.xlarge@us-east-1:spot", "--json")
    assert (code, json.loads(out)["data"]["amount"]) == (0, 0.31)
    assert call("prices", "forget", "aws")[0] == 0
    assert call("prices", "show", "aws/g6.xlarge")[0] == 2


EXAMPLE = Path(__file__).parents[2] / "examples" / "cost"
SHAPES = {"one-cpu": "aws/c7i.large", "two-cpus": "aws/c7i.xlarge", "shared-cpu": "gcp/n2-standard-2"}


def test_the_numbers_of_the_page_are_those_of_the_measurements(call: Print, tmp_path: Path) -> None:
    """Every cost, work and price in the table of docs/which-machine.md comes from the runs in `examples/cost`."""
    assert (EXAMPLE / "runs.jsonl").stat().st_size < 300_000
    (tmp_path / "prices.yaml").write_bytes((EXAMPLE / "prices.yaml").read_bytes())
    assert call("import", str(EXAMPLE / "runs.jsonl"))[0] == 0
    prices = [word for run, price in SHAPES.items() for word in ("--price-of", f"{run}={price}")]
    code, out, _ = call("cost", *SHAPES, *prices)
    assert code == 0
    page = (EXAMPLE.parents[1] / "docs" / "which-machine.md").read_text(encoding="utf-8")
    for run in SHAPES:
        (told,) = [line.split() for line in page.splitlines() if line.startswith(f"{run} ")]
        (shown,) = [line.split() for line in out.splitlines() if line.startswith(f"{run} ")]
        assert [word for word in shown if not word.startswith("search.py")] == told
    assert "What if: priced as a shape, and not measured on it: one-cpu as aws/c7i.large" in out
    spot = call("cost", "shared-cpu", "--price", "gcp/n2-standard-2", "--market", "spot")[1]
    assert "0.001186 ± 0.000026 USD" in spot and "0.00119 ± 0.00003 USD" in page


def test_an_own_machine_tells_its_energy_and_a_bound_its_currency(call: Print) -> None:
    code, out, _ = call("cost", "small.json", "--price", "desk", "--json")
    line = json.loads(out)["data"]["lines"][0]
    energy = line["energy"]["energy_per_item"]
    assert code == 0 and energy["unit"] == "J" and energy["estimate"]["method"].startswith("nameplate of ")
    assert "not measured)" in call("cost", "small.json", "--price", "desk")[1]
    bound = ("--price", "0.36USD/h", "--objective")
    kept = json.loads(call("cost", "small.json", *bound, "cost_per_million<0.1USD", "--json")[1])["data"]["lines"]
    assert {one["is_kept"] for one in kept} == {True, False}
    code, _, err = call("cost", "small.json", *bound, "cost_per_million<0.1")
    assert code == 2 and "may mean 0.1 USD, as the price is, or another currency" in err
