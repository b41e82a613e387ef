import torch
from torch import nn

torch.manual_seed(0)


class RelationAggregator(nn.Module):
    def __init__(self, numfeatures=8, numrel=6, out=3):
        super().__init__()
        self.numrel = numrel
        self.waggrs = nn.ParameterDict()
        self.list_relations = nn.ModuleDict()
        for rel in range(numrel):
            self.waggrs[str(rel)] = nn.Parameter(1.0 + torch.randn(1, numfeatures))
            self.list_relations[str(rel)] = nn.Linear(numfeatures, 16)
        self.final = nn.Linear(16, out)

    def forward(self, x, relation):
        hidden = torch.zeros(x.size(0), 16)
        for rel in range(self.numrel):
            rows = (relation == rel).nonzero().squeeze(1)
            if rows.numel():
                scaled = x[rows] * self.waggrs[str(rel)]
                hidden = hidden.index_add(0, rows, torch.tanh(self.list_relations[str(rel)](scaled)))
        return self.final(hidden)


class RelationData:
    def __init__(self, n=900, numfeatures=8, numrel=6, out=3):
        teacher = torch.randn(numrel, numfeatures, out)
        self.x = torch.randn(n, numfeatures)
        self.relation = torch.randint(0, numrel, (n,))
        self.y = torch.einsum("nf,nfo->no", self.x, teacher[self.relation]).argmax(1)

    def batches(self, size=60):
        for index in torch.randperm(len(self.x)).split(size):
            yield self.x[index], self.relation[index], self.y[index]


def main():
    data = RelationData()
    model = RelationAggregator()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(1, 13):
        total, correct = 0.0, 0
        for x, relation, y in data.batches():
            optimizer.zero_grad()
            scores = model(x, relation)
            loss = criterion(scores, y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            correct += (scores.argmax(1) == y).sum().item()
        if epoch % 4 == 0:
            print(f"epoch {epoch}: loss {total / 15:.4f} accuracy {correct / 900:.3f}")


if __name__ == "__main__":
    main()
