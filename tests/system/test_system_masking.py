"""Addresses without their secrets."""

from __future__ import annotations

import pytest

from benchwright.system.masking import mask_arguments, mask_url, name_people


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:s3cret@db.example:5432/bench", "postgresql://***@db.example:5432/bench"),
        ("postgresql+psycopg://ann:s%40cret@db/bench", "postgresql+psycopg://***@db/bench"),
        ("postgresql://ann:s3/cr?e#t@db/bench", "postgresql://***@db/bench"),  # as SQLAlchemy takes it
        ("postgresql://ann:s3@cret@db/bench", "postgresql://***@db/bench"),
        ("postgresql://:s3cret@db/bench", "postgresql://***@db/bench"),
        ("postgresql://db/bench?user=ann&password=s3cret&x=1", "postgresql://db/bench?user=***&password=***&x=***"),
        ("--store=postgresql://ann:s3cret@db/bench", "--store=postgresql://***@db/bench"),
        ("https://ann:s3cret@host/model.onnx", "https://***@host/model.onnx"),
        ("https://t0ken@host/at@sign", "https://***@host/at@sign"),
        ("curl https://ann:s3cret@host/a http://b:s3cret@c", "curl https://***@host/a http://***@c"),
        ("s3://b/x?X-Amz-Signature=s3cret&t0ken&a=", "s3://b/x?X-Amz-Signature=***&***&a="),
        ("see https://host/a?s=s3cret#t0ken.", "see https://host/a?s=***#***."),
        ("sftp://me:s3cret@h/a,sftp://me:s3,cret@h/b", "sftp://***@h/a,sftp://***@h/b"),
        ("https://h/a?s=s3cret;main,gs://b/c", "https://h/a?s=***,gs://b/c"),
        ('{"a":"https://u:s3cret@h/x?s=s3cret","b":1}', '{"a":"https://***@h/x?s=***","b":1}'),
        ("abfs://container@account/x?sig=s3cret", "abfs://container@account/x?sig=***"),
        ("file://ann:s3cret@/a", "file://***@/a"),
        ("zip://a::s3://me:s3cret@b", "zip://***@b"),
    ],
)
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    assert mask_url(url) == mask_url(shown) == shown
    assert mask_arguments(["run", url]) == ("run", shown)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "results.db",
        "sqlite:////tmp/a:b@c.db",
        "postgresql://db:5432/bench",
        "file:///a#b?c=d",
        "s3://bucket/folder@2",
        "bench.py::encode",
        "--objective=p99<20ms",
        "mail ann:x@host",
    ],
)
def test_what_holds_no_password_is_left_as_it_is(text: str) -> None:
    assert mask_url(text) == text


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("Ada <ada@mail.example>", "Ada"),
        ("ada@mail.example", "ada"),
        ("Fix it, ada@mail.example: see #12", "Fix it, ada: see #12"),
        ("clone git@mail.example:team/code", "clone git@mail.example:team/code"),
        ("nobody @ all", "nobody @ all"),
    ],
)
def test_people_are_named_without_their_addresses(told: str, shown: str) -> None:
    assert name_people(told) == shown
