"""Takes the arguments of bench_serving, sends requests to the server and appends a line as bench_serving does."""

import argparse
import json
import urllib.request
from pathlib import Path

import sglang

parser = argparse.ArgumentParser()
for name in ("backend", "host", "port", "model", "dataset-name", "random-range-ratio", "num-prompts"):
    parser.add_argument(f"--{name}")
for name in ("random-input-len", "random-output-len", "max-concurrency", "seed", "output-file", "dataset-path"):
    parser.add_argument(f"--{name}")
parser.add_argument("--disable-tqdm", action="store_true")
options = parser.parse_args()
for _ in range(int(options.num_prompts)):
    data = json.dumps({"model": options.model, "messages": []}).encode()
    with urllib.request.urlopen(
        f"http://{options.host}:{options.port}/v1/chat/completions", data, timeout=600
    ) as answer:
        answer.read()
line = {
    "completed": int(options.num_prompts),
    "mean_ttft_ms": 1000.0 / sglang.RIGHT,
    "output_throughput": 100.0 * sglang.RIGHT,
    "accept_length": 2.5,
}
with Path(options.output_file).open("a") as file:
    file.write(json.dumps(line) + "\n")
