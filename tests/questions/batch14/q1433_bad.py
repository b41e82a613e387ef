import torch
import torch.nn as nn
import torch.nn.functional as F

EPOCHS, EPOCH_PRUNE, RATE = 9, 4, 0.5


class Mask:
    def __init__(self, model):
        self.model = model
        self.mat = {}

    def init_mask(self, rate):
        for name, weight in self.model.named_parameters():
            if weight.dim() != 4:
                continue
            flat = weight.detach().flatten(1)
            distance = torch.cdist(flat, flat).sum(1)
            pruned = distance.topk(int(rate * len(flat)), largest=False).indices
            self.mat[name] = torch.ones_like(weight)
            self.mat[name][pruned] = 0

    def do_mask(self):
        for name, weight in self.model.named_parameters():
            if name in self.mat:
                weight.data = weight.data * self.mat[name]

    def do_grad_mask(self):
        for name, weight in self.model.named_parameters():
            if name in self.mat:
                weight.grad.data = weight.grad.data * self.mat[name]

    def nonzero(self):
        params = dict(self.model.named_parameters())
        alive = sum(int((params[k].detach()[m == 0] != 0).sum()) for k, m in self.mat.items())
        largest = max(params[k].detach()[m == 0].abs().max().item() for k, m in self.mat.items())
        return alive, sum(int((m == 0).sum()) for m in self.mat.values()), largest


def make_data(n, generator):
    y = torch.randint(0, 4, (n,), generator=generator)
    shape = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(4))
    return shape[y] * 0.5 + torch.randn(n, 1, 8, 8, generator=generator), y


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    x, y = make_data(640, generator)
    x_test, y_test = make_data(400, generator)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2, padding=1, bias=False),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(128, 4),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    m = Mask(model)
    for epoch in range(EPOCHS):
        if epoch == EPOCH_PRUNE:
            m.init_mask(RATE)
            m.do_mask()
        for rows in torch.randperm(len(x), generator=generator).split(64):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            m.do_grad_mask()
            optimizer.step()
        with torch.no_grad():
            accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
        line = f"epoch {epoch}: accuracy {accuracy:.3f}"
        if m.mat:
            alive, total, largest = m.nonzero()
            line += f", pruned weights that aren't zero: {alive} of {total} (largest {largest:.4f})"
        print(line)


if __name__ == "__main__":
    main()
