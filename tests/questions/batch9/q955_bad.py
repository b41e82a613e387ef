import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
OBJECTS, V_DIM, Q_DIM, ANSWERS = 8, 16, 12, 5


def q_expand_v_cat(q, v, mask=True):
    q = q.view(q.size(0), 1, q.size(1))
    q_expand = q.expand(-1, v.size(1), -1)
    if mask:
        mask_index = torch.nonzero(v.sum(-1) == 0)
        q_expand[mask_index[:, 0], mask_index[:, 1]] = 0
    return torch.cat((v, q_expand), dim=-1)


class QuestionEncoder(nn.Module):
    def __init__(self, vocab=20):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.rnn = nn.GRU(16, Q_DIM, batch_first=True)

    def forward(self, words):
        return self.rnn(self.embed(words))[1].squeeze(0)


class RelationEncoder(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.trans = nn.Linear(V_DIM + Q_DIM, hidden)
        self.query, self.key = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)

    def forward(self, v, q):
        h = F.relu(self.trans(q_expand_v_cat(q, v)))
        att = torch.softmax(self.query(h) @ self.key(h).transpose(1, 2) / h.size(-1) ** 0.5, dim=-1)
        return h + att @ h


class ReGAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_emb = QuestionEncoder()
        self.v_relation = RelationEncoder()
        self.classifier = nn.Linear(32, ANSWERS)

    def forward(self, v, words):
        return self.classifier(self.v_relation(v, self.q_emb(words)).mean(dim=1))


def make_batch(n):
    v = torch.randn(n, OBJECTS, V_DIM)
    count = torch.randint(3, OBJECTS + 1, (n, 1))
    v = v * (torch.arange(OBJECTS) < count).unsqueeze(-1)
    words = torch.randint(0, 20, (n, 5))
    return v, words, words[:, -1] % ANSWERS


model = ReGAT()
optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)
for step in range(1, 301):
    v, words, answers = make_batch(64)
    loss = F.cross_entropy(model(v, words), answers)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step}  loss {loss.item():.4f}")
