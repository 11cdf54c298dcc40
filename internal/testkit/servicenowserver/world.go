package servicenowserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *Server) now() string {
	s.clock = s.clock.Add(time.Second)
	return s.clock.Format(time.DateTime)
}

// Advance moves the clock.
func (s *Server) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = s.clock.Add(by)
}

// SetClock sets the clock.
func (s *Server) SetClock(at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = at.UTC()
}

// Add adds a row to a table and returns its sys_id.
func (s *Server) Add(table string, row Row) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.add(table, row)
}

func (s *Server) add(table string, row Row) string {
	s.serial++
	// The order of ids is not that of their creation.
	id := fmt.Sprintf("%08x%024x", s.serial*2654435761, s.serial)
	made := Row{"sys_id": id, "sys_created_on": s.now(), "sys_mod_count": "0"}
	made["sys_updated_on"] = made["sys_created_on"]
	for field, value := range row {
		made[field] = value
	}
	if s.tables[table] == nil {
		s.tables[table] = map[string]Row{}
	}
	s.tables[table][id] = made
	return id
}

// Change changes fields of a row.
func (s *Server) Change(table, id string, row Row) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	changed := s.tables[table][id]
	for field, value := range row {
		changed[field] = value
	}
	count, _ := strconv.Atoi(changed["sys_mod_count"])
	changed["sys_mod_count"], changed["sys_updated_on"] = strconv.Itoa(count+1), s.now()
}

// Remove deletes a row. audited says that the audit of deletions has it.
func (s *Server) Remove(table, id string, audited bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.tables[table], id)
	if audited {
		s.add("sys_audit_delete", Row{"tablename": table, "documentkey": id})
	}
}

// Attach adds a file to a row and returns its sys_id.
func (s *Server) Attach(table, row, name, media string, data []byte) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	id := s.add("sys_attachment", Row{"table_name": table, "table_sys_id": row, "file_name": name, "content_type": media, "size_bytes": strconv.Itoa(len(data)), "sys_created_by": "ada"})
	s.data[id] = data
	return id
}

// Hide lets the access rules hide rows, or show them again.
func (s *Server) Hide(hide bool, ids ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, id := range ids {
		s.hidden[id] = hide
	}
}

// Refuse refuses a table, or allows it again.
func (s *Server) Refuse(table string, refuse bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.refused[table] = refuse
}

// Name sets what people see of a value.
func (s *Server) Name(value, display string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.names[value] = display
}

// matching returns the rows of a table that match an encoded query, by sys_id.
func (s *Server) matching(table, query string) []Row {
	var rows []Row
	for _, row := range s.tables[table] {
		if s.matches(table, row, query) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a["sys_id"], b["sys_id"]) })
	return rows
}

func (s *Server) matches(table string, row Row, query string) bool {
	matched := true // of the present group of alternatives
	for _, part := range strings.Split(query, "^") {
		condition, alternative := strings.CutPrefix(part, "OR")
		switch {
		case part == "" || strings.HasPrefix(part, "ORDERBY"):
		case alternative:
			matched = matched || s.meets(row, condition)
		case !matched:
			return false
		default:
			matched = s.meets(row, part)
		}
	}
	return matched
}

// meets reports whether a row meets a condition of an encoded query. An invalid one is
// ignored, as ServiceNow does.
func (s *Server) meets(row Row, condition string) bool {
	for _, operator := range []string{"RELATIVEGT@minute@ago@", ">=javascript:gs.now()", ">", "=", "IN"} {
		field, value, found := strings.Cut(condition, operator)
		if !found {
			continue
		}
		have := row[field]
		if reference, of, dotted := strings.Cut(field, "."); dotted {
			for _, rows := range s.tables {
				if other := rows[row[reference]]; other != nil {
					have = other[of]
				}
			}
		}
		switch operator {
		case "RELATIVEGT@minute@ago@":
			minutes, _ := strconv.Atoi(value)
			return have > s.clock.Add(-time.Duration(minutes)*time.Minute).Format(time.DateTime)
		case ">":
			return have > value
		case "=":
			return have == value
		case "IN":
			return slices.Contains(strings.Split(value, ","), have)
		default:
			return have >= s.clock.Format(time.DateOnly)
		}
	}
	return true
}

// AddArticle adds a published article to a knowledge base.
func (s *Server) AddArticle(base string, row Row) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	made := Row{"number": fmt.Sprintf("KB%07d", 10_000+s.serial), "kb_knowledge_base": base, "workflow_state": "published", "valid_to": "2100-01-01"}
	for field, value := range row {
		made[field] = value
	}
	return s.add("kb_knowledge", made)
}

// AddBase adds a knowledge base.
func (s *Server) AddBase(title string) string {
	id := s.Add("kb_knowledge_base", Row{"title": title})
	s.Name(id, title)
	return id
}

// AddSample fills the instance with some content.
func (s *Server) AddSample() {
	base := s.AddBase("IT")
	s.AddArticle(base, Row{"short_description": "Reset a password", "text": "<p>Open the portal and choose <b>Forgot password</b>.</p>"})
	s.AddArticle(base, Row{"short_description": "Borrow a projector", "text": "<p>The key is at the reception.</p>"})
	incident := s.Add("incident", Row{"number": "INC0010001", "short_description": "The printer eats paper", "description": "Since Monday.\nOnly thick paper.", "state": "2", "priority": "3"})
	s.Name("2", "In Progress")
	s.Attach("incident", incident, "photo.txt", "text/plain", []byte("A very crumpled page."))
	s.Add("sc_cat_item", Row{"name": "Standing desk", "short_description": "A desk to stand at", "description": "<p>160 cm wide.</p>", "active": "true"})
}
