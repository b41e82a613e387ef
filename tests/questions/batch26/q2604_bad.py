import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
ENTITIES, RELATIONS = 120, 4


def build_graph():
    place = torch.rand(ENTITIES, 2)
    shift = torch.tensor([[0.2, 0.0], [-0.1, 0.2], [0.0, -0.25], [0.15, 0.15]])
    triples = []
    for h in range(ENTITIES):
        for r in range(RELATIONS):
            goal = place[h] + shift[r]
            near = (place - goal).norm(dim=1).topk(6, largest=False).indices
            for t in near[torch.randperm(6)[:2]].tolist():
                triples.append((h, r, t))
    triples = torch.tensor(triples)
    triples = triples[torch.randperm(len(triples))]
    noisy = torch.rand(len(triples)) < 0.25
    triples[noisy, 2] = torch.randint(0, ENTITIES, (int(noisy.sum()),))
    return triples[:650], triples[650:800], triples[800:]


class TransE(nn.Module):
    def __init__(self, dim=30, margin=2.0):
        super().__init__()
        self.ent = nn.Embedding(ENTITIES, dim)
        self.rel = nn.Embedding(RELATIONS, dim)
        self.margin = margin
        nn.init.xavier_uniform_(self.ent.weight)
        nn.init.xavier_uniform_(self.rel.weight)

    def forward(self, h, r):
        query = self.ent(h) + self.rel(r)
        return self.margin - (query[:, None] - self.ent.weight[None]).pow(2).sum(-1)


class Trainer:
    def __init__(self, model, train, valid, epochs=100, batch=50, lr=0.02):
        self.model, self.train_set, self.valid_set = model, train, valid
        self.epochs, self.batch = epochs, batch
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def test(self, data):
        self.model.eval()
        with torch.no_grad():
            scores = self.model(data[:, 0], data[:, 1])
            target = scores.gather(1, data[:, 2:])
            rank = (scores > target).sum(1) + 1
            loss = F.cross_entropy(scores, data[:, 2])
        self.model.train()
        return loss.item(), (rank <= 10).float().mean().item()

    def one_epoch(self):
        perm = torch.randperm(len(self.train_set))
        total = 0.0
        for i in range(0, len(perm), self.batch):
            h, r, t = self.train_set[perm[i:i + self.batch]].T
            loss = F.cross_entropy(self.model(h, r), t)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item() * len(t)
        return total / len(perm)

    def run(self):
        best_loss, best_hits, best_epoch, best_model = float("inf"), 0.0, -1, None
        for epoch in range(self.epochs):
            loss = self.one_epoch()
            valid_loss, hits = self.test(self.valid_set)
            if valid_loss < best_loss:
                best_loss, best_hits, best_epoch = valid_loss, hits, epoch
                best_model = self.model.state_dict()
            if epoch % 10 == 9:
                print(f"epoch {epoch + 1} loss {loss:.3f} valid loss {valid_loss:.3f} hits@10 {hits:.3f}")
        self.model.load_state_dict(best_model)
        print(f"best epoch {best_epoch + 1}: valid loss {best_loss:.3f} hits@10 {best_hits:.3f}")


train, valid, test = build_graph()
model = TransE()
trainer = Trainer(model, train, valid)
trainer.run()
for name, part in (("valid", valid), ("test", test)):
    loss, hits = trainer.test(part)
    print(f"restored model, {name}: loss {loss:.3f} hits@10 {hits:.3f}")
