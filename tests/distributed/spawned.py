"""Functions that tests run in processes of their own."""

import os
import pathlib
import time


def write_number(number: int, folder: str, text: str) -> None:
    pathlib.Path(folder, str(number)).write_text(text * number)


def fail_second(number: int) -> None:
    if number == 1:
        raise ValueError("the second one fails")
    time.sleep(600)


def leave(number: int, status: int) -> None:
    os._exit(status)
