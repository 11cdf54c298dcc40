package broken

func unclosed() {
	if x := "}" {
