package syncer

// recordLag records the time from a change until it was stored. The time starts at
// the modification if the source tells it and it lies between the last look at the
// item and now, otherwise when the walk listed the item. Storing the same version
// again is not a change.
func (s *slice) recordLag(t task) {
	if t.known.Live() && t.item.Version != "" && t.item.Version == t.known.DocumentVersion {
		return
	}
	now := s.engine.opt.Now()
	since := t.seen
	if waiting := t.known.WaitingSince; !waiting.IsZero() && waiting.Before(since) {
		since = waiting
	}
	lastLook := t.known.ProcessedAt
	if lastLook.IsZero() && s.connector.LastSync != nil {
		lastLook = *s.connector.LastSync
	}
	// A new item may be years old, which is not a lag of the sync.
	if changed := t.item.ModifiedAt; !lastLook.IsZero() && changed.After(lastLook) && changed.Before(since) {
		since = changed
	}
	s.run.RecordLag(now.Sub(since))
}
