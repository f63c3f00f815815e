"""What the hot paths may cost: budgets.json, and what measured counts are beside it."""

import json

TOLERANCE_PERCENT = 2
FUNCTIONS = 8  # of a path that are stored
NAMED = 5  # at most, of those that grew
UPDATE = "./run test instructions --update"


def difference(measured, budget):
    """In percent."""
    return 100 * (measured / budget["instructions"] - 1)


def growth(functions, stored):
    """(by how much, name, now, before) of each function that grew, most first. One that is not stored had at most as
    much as the least of those that are, so it grew by that much at least."""
    least = min(stored.values(), default=0)
    grown = [(now - stored.get(name, least), name, now, stored.get(name)) for name, now in functions.items()]
    return sorted((each for each in grown if each[0] > 0.05), reverse=True)


def over(path, profile, budget):
    percent = difference(profile.instructions, budget)
    lines = [
        f"{path}: {profile.instructions:,.1f} instructions per operation, {percent:+.1f} % beside its budget of"
        f" {budget['instructions']:,.1f}, which allows {budget['tolerance']} %."
    ]
    for by, name, now, before in growth(profile.functions, budget["functions"])[:NAMED]:
        if before is None:
            lines.append(f"    {name}: was not among the first, now {now:,.1f} by itself (at least +{by:,.1f})")
        else:
            lines.append(f"    {name}: was {before:,.1f}, now {now:,.1f} by itself (+{by:,.1f})")
    if len(lines) == 1:
        lines.append(f"    none of its first {len(budget['functions'])} functions grew: see which by line.")
    return "\n".join(lines)


def over_budget(measured, budgets):
    """The paths that cost more than they may."""
    return [
        path
        for path, profile in measured.items()
        if path in budgets and difference(profile.instructions, budgets[path]) > budgets[path]["tolerance"]
    ]


def judge(measured, budgets):
    """(failures, hints), each a list of texts. `measured`: a Profile of each path's name."""
    failures, hints = [], []
    too_dear = over_budget(measured, budgets)
    for path, profile in measured.items():
        budget = budgets.get(path)
        if budget is None:
            failures.append(f"{path}: {profile.instructions:,.1f} instructions per operation, and no budget.")
            continue
        percent = difference(profile.instructions, budget)
        if path in too_dear:
            failures.append(over(path, profile, budget))
        elif percent < -budget["tolerance"]:
            hints.append(f"{path}: {profile.instructions:,.1f} instructions per operation, {percent:+.1f} % beside its budget.")
    failures += [f"{path}: has a budget, and is no path of hot_paths." for path in budgets if path not in measured]
    return failures, hints


def table(measured, budgets):
    lines = [f"{'path':32} {'instructions':>14} {'budget':>14} {'':>8}"]
    for path, profile in measured.items():
        budget = budgets.get(path)
        beside = f"{budget['instructions']:>14,.1f} {difference(profile.instructions, budget):>+7.2f}%" if budget else ""
        lines.append(f"{path:32} {profile.instructions:>14,.1f} {beside}".rstrip())
    return "\n".join(lines)


def by_library(measured):
    """What of each path is whose, most first."""
    lines = []
    for path, profile in measured.items():
        lines.append(f"{path}: {profile.instructions:,.0f} instructions")
        for library, count in sorted(profile.libraries.items(), key=lambda each: -each[1]):
            if count >= profile.instructions / 100:
                lines.append(f"  {count:>10,.0f}  {count / profile.instructions:>4.0%}  {library}")
    return "\n".join(lines)


def updated(measured, budgets):
    """Budgets as measured; of a path that had one the tolerance stays."""
    return {
        path: {
            "instructions": round(profile.instructions, 1),
            "tolerance": budgets.get(path, {}).get("tolerance", TOLERANCE_PERCENT),
            "functions": {
                name: round(count, 1)
                for name, count in sorted(profile.functions.items(), key=lambda each: -each[1])[:FUNCTIONS]
            },
        }
        for path, profile in measured.items()
    }


def load(file):
    """(what they are for, the budgets)."""
    if not file.exists():
        return None, {}
    content = json.loads(file.read_text())
    return content["for"], content["paths"]


def save(file, about, budgets):
    file.write_text(json.dumps({"for": about, "paths": budgets}, indent=1) + "\n")
