"""Let an inference request in under the limits, or say why not: first what was spent, then how many there are."""

from __future__ import annotations

from collections import Counter

from coldpress.gateway.admission import Admission, Allowance, Place, Timer
from coldpress.gateway.client import Client
from coldpress.gateway.errors import Code, Limited
from coldpress.gateway.settings import GatewaySettings
from coldpress.gateway.spend_cap import SpendCap
from coldpress.wire.registry import NO_ADDRESS, Address


def admission_of(settings: GatewaySettings, timer: Timer | None = None) -> Admission:
    """Take what limits admission out of the settings."""
    limits = settings.limits
    own = {provider.name: Allowance(provider.concurrency, provider.rpm) for provider in settings.providers}
    overall = Allowance(limits.concurrency, limits.rpm)
    return Admission(overall, own, wait_seconds=limits.wait_seconds, timer=timer)


class Entrance:
    """The way in of one gateway.

    Attributes:
        refused: requests by the word of their refusal.
    """

    def __init__(self, admission: Admission, cap: SpendCap) -> None:
        self._admission = admission
        self._cap = cap
        self.refused: Counter[Code] = Counter()

    async def admit(self, client: Client, provider: str, body: bytes | None, address: Address = NO_ADDRESS) -> Place:
        """Let a request in; whoever gets a place gives it back when the reply has ended.

        Args:
            client: who sends it. Its leaving ends the wait where its body has been read, and is not noticed before its
                turn where not.
            provider: where it goes.
            body: the request; `None` where it goes on unread.
            address: what its path tells.

        Raises:
            Limited: it is more than the settings allow.
            ClientGone: the client left while it waited.
        """
        try:
            await self._cap.check(provider, body, address)
            if not self._admission.must_wait(provider):
                return await self._admission.enter(provider)
            place = await self._wait(client, provider)
            try:
                await self._cap.check(provider, body, address)  # more may have been spent meanwhile
            except BaseException:
                place.release()
                raise
        except Limited as refused:
            self.refused[refused.code] += 1
            raise
        return place

    async def _wait(self, client: Client, provider: str) -> Place:
        if client.more:
            return await self._admission.enter(provider)
        with client:
            client.watch()
            return await self._admission.enter(provider)

    def told(self) -> dict[str, object]:
        """Give what `/stats` says of the limits; blocking."""
        return {
            "waiting": self._admission.waiting,
            "waited": self._admission.waited,
            "refused": dict(sorted(self.refused.items())),
            "spend": self._cap.told(),
        }
