import torch
import torch.nn as nn
import torch.nn.functional as F


def block_model(sizes, p_in, p_out, generator):
    labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    same = labels[:, None] == labels[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu((torch.rand(prob.shape, generator=generator) < prob).float(), 1)
    return upper + upper.t(), labels


class GraphConv(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.own = nn.Linear(fan_in, fan_out)
        self.neighbours = nn.Linear(fan_in, fan_out, bias=False)

    def forward(self, x, adj):
        return self.own(x) + self.neighbours(adj @ x)


class NodeClassifier(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.conv1 = GraphConv(features, hidden)
        self.conv2 = GraphConv(hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x, adj):
        x = F.relu(self.conv1(x, adj))
        x = F.relu(self.conv2(x, adj))
        return self.out(x)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    adj, labels = block_model([60] * 6, 0.25, 0.02, generator)
    adj = adj / adj.sum(1, keepdim=True).clamp(min=1)
    features = torch.randn(len(labels), 16, generator=generator)
    features[:, :6] += 0.7 * F.one_hot(labels).float()
    order = torch.randperm(len(labels), generator=generator)
    train, test = order[:240], order[240:]
    model = NodeClassifier(16, 32, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(301):
        optimizer.zero_grad()
        out = model(features, adj)
        loss = criterion(out[train], labels[train])
        loss.backward()
        optimizer.step()
        if epoch % 50 == 0:
            acc = (out[test].argmax(1) == labels[test]).float().mean()
            print(f"epoch {epoch}: train loss {loss.item():.4f}  test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
