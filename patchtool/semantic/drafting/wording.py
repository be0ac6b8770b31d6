"""Hunks as the text of rules, with several alternatives for each."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from patchtool.semantic.drafting.hunks import Hunk
from patchtool.semantic.drafting.rule_text import quoted, rule, text_of, with_holes
from patchtool.semantic.drafting.statements import (
    FUNCTIONS,
    IMPORTS,
    adding_verb,
    identifiers,
    imported,
    module_of,
    names_of,
    parameter_nodes,
    parameter_text,
)
from patchtool.semantic.language.names import local_names_of
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import DEFINITIONS, Function, ScopeNode, first_line, parameters, symbols
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import same

Rules = tuple[str, ...]
"""The arguments of one or several rules, without name and target."""


def alternatives(old: Source, new: Source, hunk: Hunk) -> list[Rules]:
    """List ways to state one hunk, the most general one first."""
    scope = dict(symbols(old.tree)).get(hunk.symbol)
    ways = _Ways(old, new, hunk, scope)
    found = list(dict.fromkeys(ways.all()))
    return found + (alternatives(old, new, hunk.outer) if hunk.outer is not None else [])


class _Ways:
    """The ways to state one hunk.

    Args:
        old: The file before.
        new: The file after.
        hunk: The hunk.
        scope: Its scope in the old file; None for the module.
    """

    def __init__(self, old: Source, new: Source, hunk: Hunk, scope: ScopeNode | None) -> None:
        self.old = old
        self.new = new
        self.hunk = hunk
        self.scope = scope
        self.in_function = isinstance(scope, FUNCTIONS)
        self.local = local_names_of(scope) - {"self", "cls"} if isinstance(scope, FUNCTIONS) else frozenset()
        inner = dict(symbols(new.tree)).get(hunk.symbol)
        parameter_names = set(parameters(scope)) if isinstance(scope, FUNCTIONS) else set()
        values = local_names_of(inner) if isinstance(inner, FUNCTIONS) else frozenset()
        self.computed = frozenset((values | self.local) - parameter_names - {"self", "cls"})
        """Locals that stand for what they were assigned; goals find code by value."""

    def all(self) -> Iterator[Rules]:
        """Yield them."""
        hunk = self.hunk
        if not self.in_function and not hunk.nested:
            yield from self._structural()
        if hunk.removed and hunk.added:
            yield from self._replacements()
        elif hunk.removed:
            yield from self._removals()
        else:
            yield from self._insertions()
        yield from self._with_context()

    def _structural(self) -> Iterator[Rules]:
        """Statements of a module or class, one rule for each."""
        for place in ("behind", "before"):
            rules = list(self._statement_rules(place))
            if all(rules):
                yield tuple(text for group in rules for text in group)

    def _statement_rules(self, place: str) -> Iterator[Rules]:
        removed, added = list(self.hunk.removed), list(self.hunk.added)
        if all(isinstance(statement, IMPORTS) for statement in (*removed, *added)):
            yield tuple(self._import_rules(removed, added, place))
            return
        for statement in list(removed):
            partner = next((s for s in added if names_of(s) and names_of(s) == names_of(statement)), None)
            if partner is not None:
                removed.remove(statement)
                added.remove(partner)
                yield self._changed(statement, partner)
        for statement in removed:
            names = names_of(statement)
            if isinstance(statement, IMPORTS):
                yield (rule("", f"remove_import({quoted(ast.unparse(statement))})"),)
            elif len(names) == 1 and (isinstance(statement, DEFINITIONS) or self.scope is not None):
                yield (rule(self.hunk.symbol, f"remove_definition({names[0]!r})"),)
            else:
                yield (rule(self.hunk.symbol, f"remove({quoted(text_of(self.old, [statement]))})"),)
        yield from self._added(added, place)

    def _added(self, added: Sequence[ast.stmt], place: str) -> Iterator[Rules]:
        near = self._neighbour(place)
        where = f", {place}={near!r}" if near else ""
        for verb, group in groupby(added, adding_verb):
            statements = list(group)
            if verb:
                scope = "" if verb == "add_import" else self.hunk.symbol
                yield (rule(scope, f"{verb}({quoted(self._code(statements))}{where})"),)
            else:
                yield ()

    def _neighbour(self, place: str) -> str:
        statement = self.hunk.before if place == "behind" else self.hunk.behind
        names = names_of(statement) if statement is not None else []
        return names[-1 if place == "behind" else 0] if names else ""

    def _import_rules(self, removed: Sequence[ast.stmt], added: Sequence[ast.stmt], place: str) -> Iterator[str]:
        gone, come = (imported(statements) for statements in (removed, added))
        near = self._neighbour(place)
        for code in gone:
            if code not in come:
                yield rule("", f"remove_import({quoted(code)})")
        for statement in added:
            fresh = [code for code in imported([statement]) if code not in gone]
            if not fresh:
                continue
            joins = any(module_of(statement) == module_of(other) for other in removed)
            where = f", {place}={near!r}" if near and not joins else ""
            whole = len(fresh) == len(imported([statement])) and not joins
            texts = [text_of(self.new, [statement])] if whole else fresh
            for text in texts:
                yield rule("", f"add_import({quoted(text)}{where})")
            near = names_of(statement)[-1] if place == "behind" and not joins else near

    def _changed(self, one: ast.stmt, other: ast.stmt) -> Rules:
        """Rules for a statement that binds the same name before and after."""
        if isinstance(one, FUNCTIONS) and isinstance(other, FUNCTIONS) and type(one) is type(other):
            header = list(self._header(one, other))
            if header and same(one.body, other.body):
                return tuple(header)
        texts = text_of(self.old, [one]), text_of(self.new, [other])
        return (rule(self.hunk.symbol, f"replace({quoted(texts[0])}, {quoted(texts[1])})", self._goals(*texts)),)

    def _header(self, one: Function, other: Function) -> Iterator[str]:
        """Rules for new parameters and decorators, where nothing else of the header changed."""
        symbol = f"{self.hunk.symbol}.{one.name}".lstrip(".")
        old, new = parameter_nodes(one), parameter_nodes(other)
        kept = [name for name in new if name in old]
        decorators = [ast.unparse(d) for d in one.decorator_list], [ast.unparse(d) for d in other.decorator_list]
        fresh = decorators[1][: len(decorators[1]) - len(decorators[0])]
        unchanged = (
            all(same(old[name], new[name]) for name in kept)
            and [name for name in old if name in kept] == kept
            and same(one.returns, other.returns)
            and decorators[1][len(fresh) :] == decorators[0]
        )
        if not unchanged:
            return
        for code in reversed(fresh):
            yield rule(symbol, f"add_decorator({code!r})")
        for name in old:
            if name not in new:
                yield rule(symbol, f"remove_parameter({name!r})")
        names = list(new)
        for name in names:
            if name not in old:
                previous = names[names.index(name) - 1] if names.index(name) else ""
                keyword_only = name in {a.arg for a in other.args.kwonlyargs}
                starred = keyword_only and not one.args.kwonlyargs and one.args.vararg is None
                behind = f", behind={previous!r}" if previous and not starred else ""
                yield rule(
                    symbol, f"add_parameter({('*, ' if starred else '') + parameter_text(other, name)!r}{behind})"
                )

    def _replacements(self) -> Iterator[Rules]:
        texts = text_of(self.old, self.hunk.removed), self._code(self.hunk.added)
        for before, after in (with_holes(*texts, self.local), texts):
            for goals in self._all_goals(before, after):
                yield (self._replace(before, after, goals),)

    def _removals(self) -> Iterator[Rules]:
        text = text_of(self.old, self.hunk.removed)
        for anchor in dict.fromkeys((with_holes(text, "pass", self.local)[0], text)):
            yield (rule(self.hunk.symbol, f"remove({quoted(anchor)}{self._within})"),)

    def _insertions(self) -> Iterator[Rules]:
        """Insertions before the next or after the previous statement; new identifiers are the defect."""
        hunk, code = self.hunk, self._code(self.hunk.added)
        if hunk.nested:
            return
        known = set(identifiers(self.scope)) if self.scope is not None else set()
        fresh = sorted(set(identifiers(ast.parse(code))) - known)
        defect = f"unmentioned({', '.join(map(repr, fresh))})"
        blank = "\n" * self._blank_lines_above()
        for verb, near in (("insert_before", hunk.behind), ("insert_after", hunk.before)):
            if near is None:
                continue
            text = text_of(self.old, [near])
            above = blank if verb == "insert_after" else ""
            for anchor, body in (with_holes(text, code, self.local), (text, code)):
                for goals in self._all_goals(anchor, body):
                    edit = f"{verb}({quoted(anchor)}, {quoted(body, above)})"
                    yield (rule(hunk.symbol, edit, goals, defect),)

    def _with_context(self) -> Iterator[Rules]:
        """Replacements together with the statements around them, for code that is there several times."""
        hunk = self.hunk
        pieces = [s for s in (hunk.before, hunk.behind) if s is not None]
        if not hunk.added or (not hunk.removed and len(pieces) < 2):
            return
        above, below = ([s] if s is not None else [] for s in (hunk.before, hunk.behind))
        for left, right in ((above, below), (above, []), ([], below)):
            if not hunk.removed and not (left and right):
                continue
            before = text_of(self.old, [*left, *hunk.removed, *right])
            stop = hunk.new_stop + len(right)
            after = self._code(hunk.new[hunk.start - len(left) : stop])
            for one, other in (with_holes(before, after, self.local), (before, after)):
                for goals in self._all_goals(one, other):
                    yield (self._replace(one, other, goals),)

    def _replace(self, before: str, after: str, goals: Sequence[str]) -> str:
        return rule(self.hunk.symbol, f"replace({quoted(before)}, {quoted(after)}{self._within})", goals)

    @property
    def _within(self) -> str:
        return ", within=any_branch()" if self.hunk.nested else ""

    def _code(self, statements: Sequence[ast.stmt]) -> str:
        """New statements as written, with the comments right above the first one that are new too."""
        text = text_of(self.new, statements)
        if not statements:
            return text
        comments: list[str] = []
        line = first_line(statements[0]) - 1
        known = {raw.strip() for raw in self.old.lines}
        while line > 0:
            raw = self.new.slice(line - 1, line).rstrip()
            if not raw.lstrip().startswith("#") or raw.strip().encode() in known:
                break
            comments.insert(0, raw.strip())
            line -= 1
        return "\n".join([*comments, text])

    def _blank_lines_above(self) -> int:
        line = first_line(self.hunk.added[0]) - 1
        while line > 0 and self.new.slice(line - 1, line).lstrip().startswith("#"):
            line -= 1
        count = 0
        while line - count > 0 and not self.new.slice(line - count - 1, line - count).strip():
            count += 1
        return count

    def _all_goals(self, before: str, after: str) -> Iterator[list[str]]:
        """Goals by value with holes for computed locals, by value without, and as they are written."""
        yield self._goals(before, after, holes=True)
        yield self._goals(before, after)
        yield self._goals(before, after, written=True)

    def _goals(self, before: str, after: str, *, holes: bool = False, written: bool = False) -> list[str]:
        """A goal for each new statement, or for the new order of old ones; the author gives the names."""
        old, new = ast.parse(before).body, ast.parse(after).body
        fresh = [self._goal_text(s, holes=holes) for s in new if not any(same(s, known) for known in old)]
        for pair in pairwise(new) if not fresh else ():
            places = [next((n for n, s in enumerate(old) if same(s, moved)), 0) for moved in pair]
            fresh += ["\n".join(self._goal_text(s, holes=holes) for s in pair)] if places[0] > places[1] else []
        option = ", as_written=True" if written else ""
        return [f"goal('new code {number}', {quoted(text)}{option})" for number, text in enumerate(fresh, 1)]

    def _goal_text(self, statement: ast.stmt, *, holes: bool) -> str:
        """A statement as a goal: names of what was computed before stand for values, and so are holes."""
        stored = {n.id for n in walk(statement) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        copied = ast.parse(ast.unparse(statement)).body[0]
        for node in walk(copied):
            if holes and isinstance(node, ast.Name) and node.id in self.computed and not is_hole(node.id):
                hole = f"{node.id.strip('_').upper()}_"
                hole = f"OLD_{hole}" if node.id in stored and isinstance(node.ctx, ast.Load) else hole
                node.id = hole if is_hole(hole) else node.id
        return ast.unparse(copied)
