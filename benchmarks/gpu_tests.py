# SPDX-License-Identifier: BSD-3-Clause
"""gpu-run's stages simcuda, tests and sanitizer: rows of rows.json, which run-tests --export has written."""
import collections
import concurrent.futures
import json
import os
import shutil
import time

import gpu_plan
from gpu_place import SKIPPED
from job_runs import HERE

LEAST_S = 2             # a row is not begun when less time is left
MOST_OUTPUT = 4000
SAVED_EVERY_S = 5
SANITIZED_MOST = 3


def all_rows(place):
    with open(f"{place.tests}/rows.json") as file:
        return json.load(file)


def simcuda_rows(place):
    return [row for row in all_rows(place) if row["ranks"] == 0]


def mpi_rows(place):
    """Each row once: rows that differ only in words for the simulated driver are the same here.
    The first rows of all programs come before their second ones, and several ranks before one, so
    that each program runs even in a short time."""
    turns, known, ordered = collections.Counter(), set(), []
    rows = [row for row in all_rows(place) if row["ranks"] > 0]
    for row in sorted(rows, key=lambda row: row["ranks"] == 1):
        what = json.dumps([row["program"], row["ranks"], row["arguments"], row["settings"]])
        if what not in known:
            ordered.append((turns[row["program"]], row))
            turns[row["program"]] += 1
        known.add(what)
    ordered.sort(key=lambda entry: entry[0])
    return [row for _, row in ordered]


def shortened(text):
    """Beginning and end of a long text."""
    text, half = text.strip(), MOST_OUTPUT // 2
    return text if len(text) <= MOST_OUTPUT else f"{text[:half]}\n[...]\n{text[-half:]}"


def judge(row, ended, was_cut):
    """(status, why) of a row that has ended; was_cut: its time was short since the stage's was."""
    is_quiet = row["ranks"] == 0 or not (ended.output + ended.errors).strip()
    if ended.code == SKIPPED:
        return "skipped", ""
    if ended.status == "timeout":
        return ("not run", "the stage's time was over") if was_cut else ("failed", f"timeout after {ended.wall_s:.0f} s")
    if ended.status == "ok" and is_quiet:
        return "passed", ""
    return "failed", "printed something" if ended.status == "ok" else f"exit code {ended.code}"


def command(place, row, is_simulated):
    """(words, settings) of a row."""
    def expand(text):
        return text.replace("$SOURCE", os.path.dirname(HERE))
    settings = {"SIMCUDA": f"strict=1;{row['driver']}"} if is_simulated and row["driver"] else {}
    settings.update((name, expand(value)) for name, value in row["settings"].items())
    return [f"{place.tests}/{row['program']}", *map(expand, row["arguments"])], settings


def run_row(place, row, options, deadline):
    wanted_s, left_s = min(row["limit_s"], options.row_limit), deadline - time.monotonic()
    result = {"name": row["name"], "ranks": row["ranks"], "status": "not run", "why": "no time was left", "seconds": 0, "output": ""}
    if left_s < LEAST_S:
        return result
    words, settings = command(place, row, options.simulated)
    ended = place.attempt(row["ranks"], words, min(wanted_s, left_s), settings)
    result["status"], result["why"] = judge(row, ended, left_s < wanted_s)
    result["seconds"] = round(ended.wall_s, 2)
    if result["status"] != "passed" or row["ranks"] == 0:
        result["output"] = shortened(ended.output + ended.errors)
    return result


def run_rows(session, stage, rows, limit_s):
    """Run rows, several at once, and put their results into session.data[stage] as they come."""
    options, deadline, saved = session.options, time.monotonic() + limit_s, time.monotonic()
    pool = concurrent.futures.ThreadPoolExecutor(options.tests_at_once)
    results = [pool.submit(run_row, session.place, row, options, deadline) for row in rows]
    try:
        for done in concurrent.futures.as_completed(results):
            keep(session.data[stage], done.result())
            if time.monotonic() - saved > SAVED_EVERY_S:
                session.save()
                saved = time.monotonic()
    finally:
        pool.shutdown(cancel_futures=True)


def keep(results, result):
    """Replace an earlier result, but not by none."""
    earlier = next((i for i, r in enumerate(results) if r["name"] == result["name"]), None)
    if result["status"] == "failed":
        print(f"  FAILED {result['name']}: {result['why']}", flush=True)
    if earlier is None:
        results.append(result)
    elif result["status"] != "not run":
        results[earlier] = result


def sanitizer_rows(place):
    """A row of each of a few programs, on two or three ranks."""
    chosen = {}
    for row in mpi_rows(place):
        if any(name in row["name"] for name in gpu_plan.SANITIZED) and row["ranks"] <= 3:
            chosen.setdefault(row["program"], row)
    return list(chosen.values())[:SANITIZED_MOST]


def probe_row(place):
    """A program that the sanitizer must be able to run, or it does not work here."""
    return next(row for row in all_rows(place) if row["name"] == "simcuda/kernels")


def find_sanitizer():
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def sanitize(place, row, limit_s):
    """Run a row's program under memcheck: {"name", "status", "words"}."""
    program, settings = command(place, row, False)
    ended = place.attempt(row["ranks"], [find_sanitizer(), "--error-exitcode", "9", "--target-processes", "all", *program], limit_s, settings)
    words = [line for line in (ended.output + ended.errors).splitlines() if "ERROR SUMMARY" in line or "Error" in line or "not supported" in line]
    return {"name": row["name"], "status": ended.status, "seconds": round(ended.wall_s, 1), "words": words[-5:]}
