import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, DIM, N_DOCS, LEN = 200, 32, 10, 12


class Ranker(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.query = nn.Linear(dim, dim)
        self.doc = nn.Linear(dim, dim)
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, query, docs):
        q = self.query(self.embed(query).mean(1))
        d = self.doc(self.embed(docs).mean(2))
        return self.scale * torch.einsum("bd,bnd->bn", q, d)


class ListDistillation(nn.Module):
    def __init__(self):
        super().__init__()
        self.kl = nn.KLDivLoss(reduction="batchmean")

    def forward(self, scores, labels):
        return self.kl(scores.log_softmax(-1), labels.softmax(-1))


def make_queries(n, gen):
    query = torch.randint(0, VOCAB, (n, 5), generator=gen)
    docs = torch.randint(0, VOCAB, (n, N_DOCS, LEN), generator=gen)
    return query, docs


gen = torch.Generator().manual_seed(4)
teacher_words = torch.randn(VOCAB, 6, generator=gen)


@torch.no_grad()
def teacher_scores(query, docs):
    q = teacher_words[query].mean(1)
    d = teacher_words[docs].mean(2)
    return 2.5 * torch.einsum("bd,bnd->bn", q, d)


@torch.no_grad()
def divergence(model, query, docs):
    model.eval()
    target = teacher_scores(query, docs)
    p = target.softmax(-1)
    ours = model(query, docs)
    kl = (p * (target.log_softmax(-1) - ours.log_softmax(-1))).sum(-1).mean()
    top = ours.softmax(-1).max(-1).values.mean()
    return kl.item(), top.item(), p.max(-1).values.mean().item()


query, docs = make_queries(4000, gen)
query_dev, docs_dev = make_queries(500, gen)
student = Ranker(DIM)
criterion = ListDistillation()
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)

for epoch in range(25):
    student.train()
    total = 0.0
    for idx in torch.randperm(len(query)).split(100):
        labels = teacher_scores(query[idx], docs[idx])
        scores = student(query[idx], docs[idx])
        loss = criterion(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: train loss {total / 40:.4f}")

kl, top, top_teacher = divergence(student, query_dev, docs_dev)
print(f"dev divergence from teacher {kl:.4f}")
print(f"mean top probability: student {top:.3f} teacher {top_teacher:.3f}")
