"""The process of the scripted server: one order a line on standard input, one answer a line on standard output.

It ends when standard input does, so it never outlives the test that started it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from typing import Any

from scripted.house import House

MOST_ORDER = 2**28  # bytes of one line


def main() -> None:
    """Serves until nobody gives orders any more."""
    gc.disable()  # instants are what this is for; garbage is collected between tests
    asyncio.run(_serve())


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    house = House(loop)
    loop.set_exception_handler(lambda _, context: house.errors.append(repr(context)))
    house.port = await house.listen()
    orders = asyncio.StreamReader(limit=MOST_ORDER)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    _tell({"port": house.port})
    while line := await orders.readline():
        try:
            answer = {"answer": await house.obey(json.loads(line))}
        except Exception as error:  # the test is told, and decides
            answer = {"error": repr(error)}
        _tell(answer)


def _tell(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
