package servicenowserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault replaces an answer.
type Fault struct {
	Status int
	Header http.Header
	Body   string
}

// Row is a row of a table by the names of its fields.
type Row = map[string]string

// Server is a running instance. Set its exported fields before the first request.
type Server struct {
	// URL is the address, User, Password and Key the credentials.
	URL, User, Password, Key string
	// NoCount leaves the header with the number of rows out.
	NoCount bool
	// MaxPage is the maximum number of rows of a page.
	MaxPage int

	server *httptest.Server

	mutex   sync.Mutex
	serial  uint32
	clock   time.Time
	tables  map[string]map[string]Row
	data    map[string][]byte // of files
	hidden  map[string]bool   // rows that the access rules hide
	refused map[string]bool   // tables
	names   map[string]string // what people see of a value
	fault   func(r *http.Request) *Fault
	counts  map[string]int // requests by path
}

// New starts a server.
func New() *Server {
	s := &Server{
		User: "magpie.reader", Password: "s3cret-0123456789", Key: "now_0123456789", clock: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC), tables: map[string]map[string]Row{},
		data: map[string][]byte{}, hidden: map[string]bool{}, refused: map[string]bool{}, names: map[string]string{}, counts: map[string]int{},
	}
	s.server = httptest.NewServer(s)
	s.URL = s.server.URL
	return s
}

// Close stops the server.
func (s *Server) Close() { s.server.Close() }

// Fail sets a function that can replace the answer to each request. With nil, the
// server answers. The function is called without a lock.
func (s *Server) Fail(fault func(r *http.Request) *Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fault = fault
}

// Requests returns the number of requests whose path contains a text.
func (s *Server) Requests(part string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := 0
	for path, n := range s.counts {
		if strings.Contains(path, part) {
			count += n
		}
	}
	return count
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	s.counts[r.URL.Path]++
	fault := s.fault
	w.Header().Set("Date", s.clock.Format(http.TimeFormat))
	s.mutex.Unlock()
	if fault != nil {
		if f := fault(r); f != nil {
			maps.Copy(w.Header(), f.Header)
			w.WriteHeader(f.Status)
			_, _ = fmt.Fprint(w, f.Body)
			return
		}
	}
	// A slow client must not block other requests.
	recorded := httptest.NewRecorder()
	s.answer(recorded, r)
	maps.Copy(w.Header(), recorded.Header())
	w.Header().Set("Content-Length", strconv.Itoa(recorded.Body.Len()))
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

type object = map[string]any

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
}

func refuse(w http.ResponseWriter, status int, message, detail string) {
	reply(w, status, object{"error": object{"message": message, "detail": detail}, "status": "failure"})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	user, password, basic := r.BasicAuth()
	if r.Header.Get("x-sn-apikey") != s.Key && r.Header.Get("Authorization") != "Bearer "+s.Key && (!basic || user != s.User || password != s.Password) {
		refuse(w, http.StatusUnauthorized, "User Not Authenticated", "Required to provide Auth information")
		return
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/now/"), "/")
	if version := map[string]string{"table": "v2", "attachment": "v1"}; len(path) > 1 && path[0] == version[path[1]] {
		path = path[1:]
	}
	switch {
	case path[0] == "table" && len(path) == 2:
		s.list(w, r, path[1], r.URL.Query().Get("sysparm_display_value") == "all")
	case path[0] == "attachment" && len(path) == 1:
		s.list(w, r, "sys_attachment", false)
	case path[0] == "attachment" && s.tables["sys_attachment"][path[1]] == nil:
		refuse(w, http.StatusNotFound, "No Record found", "Record doesn't exist or ACL restricts the record retrieval")
	case path[0] == "attachment" && len(path) == 2:
		reply(w, http.StatusOK, object{"result": s.tables["sys_attachment"][path[1]]})
	case path[0] == "attachment" && len(path) == 3 && path[2] == "file":
		w.Header().Set("Content-Type", s.tables["sys_attachment"][path[1]]["content_type"])
		_, _ = w.Write(s.data[path[1]])
	default:
		refuse(w, http.StatusBadRequest, "Requested URI does not represent any resource", "")
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, name string, all bool) {
	switch {
	case s.refused[name]:
		refuse(w, http.StatusForbidden, "User Not Authorized", "Failed API level ACL Validation")
		return
	case s.tables[name] == nil && strings.HasPrefix(name, "u_"):
		refuse(w, http.StatusBadRequest, "Invalid table "+name, "")
		return
	}
	query := r.URL.Query()
	rows := s.matching(name, query.Get("sysparm_query"))
	limit, _ := strconv.Atoi(query.Get("sysparm_limit"))
	if limit <= 0 {
		limit = 10_000
	}
	if s.MaxPage > 0 {
		limit = min(limit, s.MaxPage)
	}
	offset, _ := strconv.Atoi(query.Get("sysparm_offset"))
	if !s.NoCount {
		w.Header().Set("X-Total-Count", strconv.Itoa(len(rows)))
	}
	result := []object{}
	for _, row := range rows[min(offset, len(rows)):min(offset+limit, len(rows))] {
		if s.hidden[row["sys_id"]] {
			continue // after the limit
		}
		shown := object{}
		fields := strings.Split(query.Get("sysparm_fields"), ",")
		if fields[0] == "" {
			fields = nil
			for field := range row {
				fields = append(fields, field)
			}
		}
		for _, field := range fields {
			value, known := row[field]
			switch display := s.names[value]; {
			case !known:
			case all && display != "":
				shown[field] = object{"value": value, "display_value": display}
			case all:
				shown[field] = object{"value": value, "display_value": value}
			default:
				shown[field] = value
			}
		}
		result = append(result, shown)
	}
	reply(w, http.StatusOK, object{"result": result})
}
