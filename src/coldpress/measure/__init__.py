"""Measure: tokens, prices and what a provider's prefix cache does with a prompt. Pure: values in, values out."""
