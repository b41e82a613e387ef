"""Stands in for `requests` in pytorch/examples' gcn, which wants to download a data set."""

import io
import os


class Answer:
    def __init__(self) -> None:
        path = os.path.join(os.environ["FIELD_FOLDER"], "cora.tgz")
        with open(path, "rb") as archive:
            self.raw = io.BytesIO(archive.read())

    def __enter__(self) -> "Answer":
        return self

    def __exit__(self, *_: object) -> None:
        self.raw.close()


def get(url: str, **_: object) -> Answer:
    return Answer()
