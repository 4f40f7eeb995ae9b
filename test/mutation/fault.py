"""What a planted fault is. The lists are in faults/, one for each room of the house."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str  # short and unique, words with dashes: what is wrong
    file: str  # in the repository
    old: str  # text that is exactly once in the file: an expression, or whole statements
    new: str  # what stands there instead; for statements it may be empty
    promise: int  # of the README, 1 to 7; 0: none of them, but a user sees it
    seen: str  # what a user would see, one sentence
    statement: bool = False  # `old` is one or more statements: none of them declares what is used behind it
