import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SNLINet(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.options = options
        self.emb = nn.Embedding(options["n_words"], options["n_emb"])
        self.hids = nn.ModuleList()
        indim = options["n_emb"] * 4
        for _ in range(options["n_layers"]):
            self.hids.append(nn.ModuleList([nn.Linear(indim, options["n_hid"]), nn.Tanh()]))
            indim = options["n_hid"]
        self.classifier = nn.Linear(indim, 3)

    def forward(self, premise, hypothesis):
        p = self.emb(premise).mean(1)
        h = self.emb(hypothesis).mean(1)
        x = torch.cat([p, h, (p - h).abs(), p * h], 1)
        for linear, act in self.hids:
            x = act(linear(x))
        return self.classifier(x)


def make_data(n, n_words):
    premise = torch.randint(0, n_words, (n, 8))
    hypothesis = torch.randint(0, n_words, (n, 5))
    kind = torch.randint(0, 3, (n,))
    hypothesis[kind == 0] = premise[kind == 0][:, :5]
    hypothesis[kind == 1] = (premise[kind == 1][:, :5] + n_words // 2) % n_words
    return premise, hypothesis, kind


def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        right = (model(data[0], data[1]).argmax(1) == data[2]).float().mean().item()
    model.train()
    return right


def main():
    options = {"n_words": 60, "n_emb": 16, "n_hid": 64, "n_layers": 3}
    train = make_data(3000, options["n_words"])
    test = make_data(600, options["n_words"])
    model = SNLINet(options)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    print("parameters", sum(p.numel() for p in model.parameters()))
    for epoch in range(10):
        order = torch.randperm(len(train[2]))
        total = 0.0
        for start in range(0, len(order), 50):
            pick = order[start : start + 50]
            loss = F.cross_entropy(model(train[0][pick], train[1][pick]), train[2][pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(pick)
        print(f"epoch {epoch}: loss {total / len(order):.4f} test {evaluate(model, test):.3f}")


if __name__ == "__main__":
    main()
