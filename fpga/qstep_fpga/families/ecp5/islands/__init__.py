"""Place one lane of a farm, copy it to the equal sites of an ECP5, and check the result."""
