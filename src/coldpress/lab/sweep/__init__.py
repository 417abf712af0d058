"""Measure many recordings with many arms at many prices, on the cores of one machine or on a cluster."""
