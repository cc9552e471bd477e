"""The least that a command for this can be: click, requests, and ten lines that print a reply."""

from __future__ import annotations

import click


@click.command()
@click.option("--base-url", required=True, help="The model server.")
@click.option("--model", required=True, help="The model, as the server names it.")
@click.argument("prompt")
def main(base_url: str, model: str, prompt: str) -> None:
    """Ask PROMPT and print the reply as it comes."""
    import json

    import requests

    question = {"model": model, "stream": True, "messages": [{"role": "user", "content": prompt}]}
    response = requests.post(f"{base_url}/chat/completions", json=question, stream=True)
    rest = b""
    for data in response.iter_content(chunk_size=None):
        *events, rest = (rest + data).split(b"\n\n")
        for event in events:
            if event.startswith(b"data: {"):
                for choice in json.loads(event[6:])["choices"]:
                    click.echo(choice["delta"].get("content") or "", nl=False)
    click.echo()


if __name__ == "__main__":
    main()
