"""What being watched has cost a run, as exactly as that is known."""

from __future__ import annotations

from gradscope.check import Report

LEAST, MOST = 0.91, 1.08  # times the seconds that are told as gradscope's: between these measured ones lay


def cost(report: Report) -> str:
    """The whole process against the plain one, with its start and the report; a range where what is known
    does not give one figure. Seconds where the run was too short for a ratio."""
    summary = report.trace.meta.get("summary", {})
    own, ran = summary.get("own_seconds"), summary.get("seconds")
    if not (isinstance(own, float) and isinstance(ran, float)):
        return "not measured"
    own = min(own, ran)  # it is partly an estimate
    besides = summary.get("start_seconds", 0.0) + report.seconds
    whole = ran + summary.get("import_seconds", 0.0) + besides
    felt = f"; of it {report.seconds:.1f} s for this report" if report.seconds >= 1 else ""
    if ran < 2:
        return f"{own + besides:.2f} s of {whole:.2f} s{felt}"
    plain, least = (whole - besides - factor * own for factor in (LEAST, MOST))
    if plain < whole / 10:  # what is left for it is no measure
        return f"{own + besides:.2f} s of {whole:.2f} s{felt}"
    low = whole / plain
    if least < whole / 10:
        return f"{low:.1f} × the plain run or more{felt}"
    high = whole / least
    known = f"about {(low + high) / 2:.1f}" if high <= 1.1 * low else f"{low:.1f} to {high:.1f}"
    return f"{known} × the plain run{felt}"
