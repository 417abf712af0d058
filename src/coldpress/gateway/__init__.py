"""The streaming gateway: requests in, decisions made, replies relayed as they come."""
