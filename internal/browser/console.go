package browser

import "encoding/json"

// exception is something thrown that nobody caught.
type exception struct {
	Text      string `json:"text"`
	Exception struct {
		Description string `json:"description"`
	} `json:"exception"`
}

// String is the exception in words, with its stack.
func (e *exception) String() string { return e.Text + " " + e.Exception.Description }

// Complaints are the errors and warnings of the tab's console since the last
// call: uncaught exceptions, failed loads, and what scripts report.
func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.complaints
	p.complaints = nil
	return out
}

func (p *Page) hear(method string, params json.RawMessage) {
	p.mu.Lock()
	if c := complaint(method, params); c != "" {
		p.complaints = append(p.complaints, c)
	}
	listener := p.listener
	p.mu.Unlock()
	if listener != nil {
		listener(method, params)
	}
}

// complaint is what an event complains of, or "". An event that does not read
// as the protocol has it is one, too.
func complaint(method string, params json.RawMessage) string {
	var e struct {
		Details exception       `json:"exceptionDetails"`
		Type    string          `json:"type"`
		Args    json.RawMessage `json:"args"`
		Entry   struct {
			Level string `json:"level"`
			Text  string `json:"text"`
			URL   string `json:"url"`
		} `json:"entry"`
	}
	switch method {
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
	default:
		return ""
	}
	if err := json.Unmarshal(params, &e); err != nil {
		return method + " " + err.Error()
	}
	switch {
	case method == "Runtime.exceptionThrown":
		return e.Details.String()
	case e.Type == "error" || e.Type == "warning" || e.Type == "assert":
		return e.Type + " " + string(e.Args)
	case e.Entry.Level == "error" || e.Entry.Level == "warning":
		return e.Entry.Text + " " + e.Entry.URL
	}
	return ""
}
