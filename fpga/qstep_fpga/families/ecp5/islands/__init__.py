"""Place one lane of a farm, copy it to identical sites of an ECP5, and check the result."""
