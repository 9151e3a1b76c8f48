"""Rule packs in force: read from a folder, replaced as a whole by ``reload``, kept if the new ones are bad."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from tachograph.processors.evaluate.packs import Rule, RulePack, read_pack
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.placed_yaml import Problem

_INSTALLED: Final = Path(__file__).parents[1] / "catalog" / "rules"
_IN_THE_TREE: Final = Path(__file__).parents[4] / "catalog" / "rules"


class RulePackError(ConfigError):
    """Rule packs cannot be used. Holds every problem; its text is one per line, with file and line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems: Final = tuple(problems)


def default_folder() -> Path:
    """Where the packs that ship with the package are. The wheel puts the tree's ``catalog/`` beside the code."""
    return _INSTALLED if _INSTALLED.is_dir() else _IN_THE_TREE


class RulePacks:
    """The rules in force. Readers take ``rules`` once per event; ``reload`` replaces it in one assignment."""

    def __init__(self, packs: Iterable[RulePack] = (), *, folder: Path | None = None) -> None:
        self._folder = folder
        self._digest = ""
        self._put(tuple(packs))

    @classmethod
    def load(cls, folder: Path | None = None) -> "RulePacks":
        """Read every ``*.yaml`` of a folder, or one file. Raises RulePackError with all problems."""
        where = default_folder() if folder is None else folder
        packs, problems, digest = _read(where)
        if problems:
            raise RulePackError(problems)
        loaded = cls(packs, folder=where)
        loaded._digest = digest
        return loaded

    def reload(self) -> list[Problem]:
        """Read the folder again. With problems the old packs stay in force, and the problems are returned."""
        if self._folder is None:
            return []
        packs, problems, digest = _read(self._folder)
        if not problems and digest != self._digest:
            self._put(packs)
            self._digest = digest
        return problems

    def _put(self, packs: tuple[RulePack, ...]) -> None:
        named = ",".join(f"{pack.name}@{pack.version}" for pack in packs)
        rules = tuple(sorted((rule for pack in packs for rule in pack.rules), key=lambda rule: rule.id))
        self.packs: tuple[RulePack, ...] = packs
        self.in_force: tuple[tuple[Rule, ...], str] = (rules, named)
        """Rules by id, and the names and versions of their packs: one value, so that nobody sees half a reload."""


def check_packs(where: Path) -> tuple[tuple[RulePack, ...], list[Problem]]:
    """Packs of a file or folder and everything that is wrong with them."""
    packs, problems, _ = _read(where)
    return packs, problems


def _read(where: Path) -> tuple[tuple[RulePack, ...], list[Problem], str]:
    try:
        files = sorted([*where.glob("*.yaml"), *where.glob("*.yml")]) if where.is_dir() else [where]
        texts = [(str(file), file.read_text(encoding="utf-8")) for file in files]
    except (OSError, UnicodeDecodeError) as error:
        reason = "not found" if isinstance(error, FileNotFoundError) else "cannot be read as UTF-8 text"
        return (), [Problem(str(getattr(error, "filename", None) or where), 1, 1, f"{reason}; check the path")], ""
    if not texts:
        return (), [Problem(str(where), 1, 1, "no *.yaml here; put a rule pack into the folder")], ""
    packs: list[RulePack] = []
    problems: list[Problem] = []
    owners: dict[str, str] = {}
    for file, text in texts:
        pack, found = read_pack(text, file)
        problems += found
        if pack is None:
            continue
        packs.append(pack)
        for name in [f"pack {pack.name}", *(f"rule {rule.id}" for rule in pack.rules)]:
            if name in owners:
                problems.append(Problem(file, 1, 1, f"{name} is in {owners[name]} too; rename one"))
            owners[name] = file
    digest = sha256("\0".join(part for each in texts for part in each).encode()).hexdigest()
    return tuple(packs), problems, digest
