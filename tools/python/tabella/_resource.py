"""What the client's groups of calls are made of: pages of lists, and the fields of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, Sequence
from typing import Type, TypeVar, Union

from ._types import A, Job

if TYPE_CHECKING:
    from ._client import Tabella

T = TypeVar("T")
Target = Union[str, bool, Mapping[str, str], None]


class Page(Generic[T]):
    """One page of a list. Iterating goes through all pages; `items` are this one's, `total` counts all."""

    def __init__(
        self, items: List[T], next_cursor: Optional[str], total: int, follow: Callable[[str], "Page[T]"]
    ) -> None:
        self.items, self.next_cursor, self.total, self._follow = items, next_cursor, total, follow

    def next_page(self) -> Optional["Page[T]"]:
        return self._follow(self.next_cursor) if self.next_cursor else None

    def __iter__(self) -> Iterator[T]:
        page: Optional[Page[T]] = self
        while page is not None:
            yield from page.items
            page = page.next_page()

    def __repr__(self) -> str:
        return f"Page({len(self.items)} of {self.total})"


class Resource:
    def __init__(self, client: "Tabella") -> None:
        self._client = client
        self._call = client._transport.call

    def _page(
        self,
        operation: str,
        *ids: str,
        field: str,
        kind: Type[A],
        limit: Optional[int],
        cursor: Optional[str],
        **query: Any,
    ) -> Page[A]:
        raw = self._call(operation, *ids, query={"limit": limit, "cursor": cursor, **query}).json

        def follow(next_cursor: str) -> Page[A]:
            return self._page(
                operation, *ids, field=field, kind=kind, limit=limit, cursor=next_cursor, **query
            )

        items = [kind.read(x) for x in raw[field]]
        if kind is Job:
            items = [self._client._bound(x) for x in items]  # type: ignore
        return Page(items, raw.get("next_cursor"), raw.get("total", len(items)), follow)


def target_of(target: Target) -> Optional[Mapping[str, str]]:
    """None: the service chooses. A column's name, as its frame has it. False: no prediction."""
    if target is None or target is True:
        return None
    if target is False:
        return {"mode": "none"}
    return target if isinstance(target, Mapping) else {"column": str(target)}


def fields_of(
    data: Optional[Sequence[str]],
    target: Target,
    task: Optional[str],
    base: Optional[str],
    options: Optional[Mapping[str, Any]],
    **more: Any,
) -> Dict[str, Any]:
    """A request's fields besides its tables; `more` are options that have an argument of their own."""
    chosen = {**(options or {}), **{k: v for k, v in more.items() if v is not None}}
    fields: Dict[str, Any] = {
        "data": [data] if isinstance(data, str) else list(data) if data is not None else None,
        "target": target_of(target),
        "task": {"type": task} if task is not None else None,
        "base": base,
        "options": chosen or None,
    }
    return {k: v for k, v in fields.items() if v is not None}


def cost_of(arguments: Mapping[str, Any]) -> Dict[str, Any]:
    """The fields of a request that is only asked what it would cost."""
    rest = dict(arguments)
    first = {k: rest.pop(k, None) for k in ("data", "target", "task", "base", "options")}
    return {**fields_of(**first, **rest), "dry_run": True}
