"""Settings: what may stand in a file, how it is checked, and the frozen values everything else is given."""

from coldpress.config.load import Overrides, load
from coldpress.config.settings import Limits, Provider, Settings, StoreSettings

__all__ = ["Limits", "Overrides", "Provider", "Settings", "StoreSettings", "load"]
