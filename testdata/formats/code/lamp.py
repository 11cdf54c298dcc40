"""The lamp of the lighthouse."""


class Lamp:
    """A lamp with wicks."""

    def __init__(self, wicks: int) -> None:
        self.wicks = wicks

    # Zündet die Lampe an.
    def light(self) -> str:
        return "{" * self.wicks


def main() -> None:
    print(Lamp(3).light())
