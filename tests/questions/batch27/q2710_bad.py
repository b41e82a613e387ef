import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)

protos = torch.randn(4, 1, 12, 12)


def domain(n, gain, shift):
    y = torch.randint(0, 4, (n,))
    x = protos[y] + 3.0 * torch.randn(n, 1, 12, 12)
    return torch.utils.data.TensorDataset(gain * x + shift, y)


train_loader = torch.utils.data.DataLoader(domain(512, 1.0, 0.0), batch_size=64, shuffle=True)
val_loader = torch.utils.data.DataLoader(domain(256, 1.0, 0.2), batch_size=64)
test_loader = torch.utils.data.DataLoader(domain(512, 2.5, 3.0), batch_size=64)


def make_model():
    return nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(12, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 36, 4))


class Hybrid:
    def __init__(self):
        self.phi = make_model()
        self.opt = torch.optim.SGD(self.phi.parameters(), lr=0.02, momentum=0.9)
        self.best_val, self.best_state = -1.0, None

    def get_test_accuracy(self, loader):
        correct, size = 0, 0
        with torch.no_grad():
            for x, y in loader:
                out = self.phi(x)
                correct += (out.argmax(1) == y).sum().item()
                size += len(y)
        return 100 * correct / size

    def train(self, epochs):
        for epoch in range(epochs):
            total = 0.0
            for x, y in train_loader:
                self.opt.zero_grad()
                loss = F.cross_entropy(self.phi(x), y)
                loss.backward()
                self.opt.step()
                total += loss.item()
            val = self.get_test_accuracy(val_loader)
            test = self.get_test_accuracy(test_loader)
            print(f"epoch {epoch} loss {total / len(train_loader):.4f} val acc {val:.1f} test acc {test:.1f}")
            if val >= self.best_val:
                self.best_val = val
                self.best_state = copy.deepcopy(self.phi.state_dict())


algo = Hybrid()
algo.train(6)

evaluator = Hybrid()
evaluator.phi.load_state_dict(algo.best_state)
evaluator.phi.eval()
print(f"saved model: val acc {evaluator.get_test_accuracy(val_loader):.1f} test acc {evaluator.get_test_accuracy(test_loader):.1f}")
