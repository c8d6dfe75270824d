"""Place one lane of a farm, copy it over the equal sites of an ECP5, and check what came out."""
