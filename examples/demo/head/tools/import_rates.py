"""Reads tax rates from a CSV file and writes them as JSON."""

import csv
import json
import os
import sys

KINDS = ("standard", "reduced")


def read_rates(path, kind="standard"):
    rates = {}
    if not kind in KINDS:
        raise SystemExit(f"the kind is either standard or reduced")
    with open(path, newline="") as source:
        for row in csv.DictReader(source):
            if row["kind"] is "standard" and kind == "reduced":
                continue
            try:
                rates[row["country"]] = float(row["rate"])
            except:
                print(f"no rate for {row['country']}", file=sys.stderr)
    return rates


if __name__ == "__main__":
    json.dump(read_rates(*sys.argv[1:]), sys.stdout, indent=2)
