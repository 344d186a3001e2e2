"""What a joint distribution over label sets is good for, measured beside peers on the same rows, masks and rules."""
