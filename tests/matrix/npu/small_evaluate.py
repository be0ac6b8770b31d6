"""Takes the arguments of evalscope, sends ten questions to the server and writes a report as evalscope does."""

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
options = parser.parse_args()
generation = json.loads(options.generation_config)

if options.datasets == "hanging":
    time.sleep(3600)
right = 0
for number in range(10):
    question = {"model": options.model, "messages": [{"role": "user", "content": f"question {number}"}], **generation}
    request = urllib.request.Request(
        f"{options.api_url}/chat/completions",
        json.dumps(question).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {options.api_key}"},
    )
    with urllib.request.urlopen(request, timeout=600) as answer:
        right += json.load(answer)["choices"][0]["message"]["content"] == "right"
identity = {"name": "accuracy", "aggregation": "mean", "dimensions": {}}
other = {"name": "tokens", "aggregation": "mean", "dimensions": {}}
report = {
    "schema_version": 2,
    "dataset_name": options.datasets,
    "metrics": [{"identity": other, "score": 812.0}, {"identity": identity, "score": right / 10}],
    "primary_metric_identity": identity,
}
if options.datasets == "scoreless":
    report["primary_metric_identity"] = None
if options.datasets == "silent":
    sys.exit(0)
file = Path(options.work_dir) / "reports" / options.model.rpartition("/")[2] / f"{options.datasets}.json"
file.parent.mkdir(parents=True)
file.write_text(json.dumps(report))
