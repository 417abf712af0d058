"""An agent that speaks through Google's own SDK to a gateway in front of a strict upstream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from cases.agents import HEAD, TOOLS, Json, Scene, Turn, Walking, file_or_output
from google import genai
from google.genai import types


@dataclass
class GeminiAgent(Walking):
    """An agent on the Gemini wire that keeps its history itself, and sends thoughts and signatures back.

    Attributes:
        scene: where it runs.
        stream: whether it asks for streams; parts are kept as they came, none are put together.
        model: that it asks.
        output: gives what a tool call comes back with.
        said: the conversation so far, ready to be sent.
    """

    scene: Scene
    stream: bool = False
    model: str = "gemini-3.8-flash"
    output: Callable[[str], str] = file_or_output
    said: list[Json] = field(
        default_factory=lambda: [{"role": "user", "parts": [{"text": "Find the bug and repair it."}]}]
    )
    turns: list[Turn] = field(default_factory=list)

    def step(self) -> Turn:
        """Send the conversation, note the answer, and run the tools it calls."""
        bodies: list[bytes] = []
        hooks = {"request": [lambda request: bodies.append(request.content)]}
        with httpx.Client(verify=False, event_hooks=hooks) as http:
            parts, request_id = self._ask(http)
        turn = Turn(bodies[-1], self.scene.upstream.inference[-1], self.scene.ended(request_id))
        self.turns.append(turn)
        self.said.append({"role": "model", "parts": parts})
        if calls := [part["functionCall"] for part in parts if "functionCall" in part]:
            self.said.append({"role": "user", "parts": [self._answer(call) for call in calls]})
        return turn

    def _ask(self, http: httpx.Client) -> tuple[list[Json], str]:
        options = types.HttpOptions(base_url=self.scene.gate.url, httpx_client=http)
        client = genai.Client(api_key="k", http_options=options)
        declared = [types.FunctionDeclaration(name=name, parameters_json_schema={"type": "object"}) for name in TOOLS]
        config = types.GenerateContentConfig(
            system_instruction=HEAD,
            tools=[types.Tool(function_declarations=declared)],
            thinking_config=types.ThinkingConfig(include_thoughts=True),
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        contents = [types.Content.model_validate(content) for content in self.said]
        models = client.models
        if self.stream:
            replies = list(models.generate_content_stream(model=self.model, contents=contents, config=config))
        else:
            replies = [models.generate_content(model=self.model, contents=contents, config=config)]
        response = replies[0].sdk_http_response
        assert response is not None
        assert response.headers is not None
        found = [content for reply in replies for candidate in reply.candidates or () if (content := candidate.content)]
        parts = [part for content in found for part in content.parts or ()]
        return [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in parts], response.headers[
            "x-coldpress-request"
        ]

    def _answer(self, call: Json) -> Json:
        asked = next(iter(call.get("args", {}).values()), "")
        return {"functionResponse": {"name": call["name"], "response": {"output": self.output(str(asked))}}}
