"""Reads tax rates from a CSV file and writes them as JSON."""

import csv
import json
import sys


def read_rates(path):
    with open(path, newline="") as source:
        return {row["country"]: float(row["rate"]) for row in csv.DictReader(source)}


if __name__ == "__main__":
    json.dump(read_rates(sys.argv[1]), sys.stdout, indent=2)
