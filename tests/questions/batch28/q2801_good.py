import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class KnowledgeTracer(nn.Module):
    def __init__(self, n_problems=20, dim=24, vocab=12):
        super().__init__()
        self.emb = nn.Embedding(n_problems, dim)
        self.lstm = nn.LSTM(dim + 1, dim, batch_first=True)
        self.cls_head = nn.Linear(2 * dim, 1)
        self.gen_head = nn.Linear(2 * dim, vocab)

    def forward(self, problems, scores):
        e = self.emb(problems)
        prev = torch.cat([torch.zeros_like(scores[:, :1]), scores[:, :-1]], 1)
        prev_e = torch.cat([torch.zeros_like(e[:, :1]), e[:, :-1]], 1)
        h, _ = self.lstm(torch.cat([prev_e, prev.unsqueeze(-1)], -1))
        z = torch.cat([h, e], -1)
        return self.cls_head(z).squeeze(-1), self.gen_head(z)


def make_data(n=512, steps=10, n_problems=20):
    ability = torch.randn(n, 1)
    difficulty = torch.linspace(-2, 2, n_problems)
    problems = torch.randint(0, n_problems, (n, steps))
    scores = (torch.rand(n, steps) < torch.sigmoid(2 * (ability - difficulty[problems]))).float()
    tokens = (problems // 2 + scores.long()) % 12
    return problems, scores, tokens


problems, scores, tokens = make_data()
test_p, test_s, test_t = make_data(256)
model = KnowledgeTracer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()
multitask_weight = 0.5

for epoch in range(15):
    model.train()
    total_cls, total_gen = 0.0, 0.0
    for i in range(0, len(problems), 64):
        p, s, t = problems[i:i + 64], scores[i:i + 64], tokens[i:i + 64]
        logits, gen = model(p, s)
        loss_cls = bce(logits, s)
        loss_gen = F.cross_entropy(gen.reshape(-1, 12), t.reshape(-1))
        loss = multitask_weight * loss_cls + (1 - multitask_weight) * loss_gen
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_cls += loss_cls.item()
        total_gen += loss_gen.item()
    if epoch % 3 == 2:
        model.eval()
        with torch.no_grad():
            logits, gen = model(test_p, test_s)
            acc = ((logits > 0).float() == test_s).float().mean().item()
            tok = (gen.argmax(-1) == test_t).float().mean().item()
        print(f"epoch {epoch + 1}: cls {total_cls / 8:.4f} gen {total_gen / 8:.4f} "
              f"correctness acc {acc:.3f} token acc {tok:.3f}")
