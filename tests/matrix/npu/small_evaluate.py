"""Takes evalscope's arguments, asks the server ten questions and writes evalscope's report."""

import argparse
import json
import sys
import time
import urllib.request
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("verb", choices=["eval"])
for name in ("model", "api-url", "api-key", "eval-type", "datasets", "generation-config", "work-dir", "limit"):
    parser.add_argument(f"--{name}")
parser.add_argument("--no-timestamp", action="store_true")
asked = parser.parse_args()
generation = json.loads(asked.generation_config)

if asked.datasets == "hanging":
    time.sleep(600)
right = 0
for number in range(10):
    question = {"model": asked.model, "messages": [{"role": "user", "content": f"question {number}"}], **generation}
    request = urllib.request.Request(
        f"{asked.api_url}/chat/completions",
        json.dumps(question).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {asked.api_key}"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        right += json.load(answer)["choices"][0]["message"]["content"] == "right"
identity = {"name": "accuracy", "aggregation": "mean", "dimensions": {}}
other = {"name": "tokens", "aggregation": "mean", "dimensions": {}}
report = {
    "schema_version": 2,
    "dataset_name": asked.datasets,
    "metrics": [{"identity": other, "score": 812.0}, {"identity": identity, "score": right / 10}],
    "primary_metric_identity": identity,
}
if asked.datasets == "scoreless":
    report["primary_metric_identity"] = None
if asked.datasets == "silent":
    sys.exit(0)
file = Path(asked.work_dir) / "reports" / asked.model.rpartition("/")[2] / f"{asked.datasets}.json"
file.parent.mkdir(parents=True)
file.write_text(json.dumps(report))
