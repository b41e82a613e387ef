import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ClassifierModule(nn.Module):
    def __init__(self, n_in=20, hidden=64, classes=5):
        super().__init__()
        self.hidden = nn.Linear(n_in, hidden)
        self.output = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        return F.log_softmax(self.output(x), dim=-1)


class NeuralNetClassifier:
    def __init__(self, module, criterion=nn.NLLLoss, optimizer=torch.optim.RMSprop, lr=0.1, max_epochs=20):
        self.module = module
        self.criterion = criterion()
        self.optimizer = optimizer(module.parameters(), lr=lr)
        self.max_epochs = max_epochs

    def get_loss(self, y_pred, y_true):
        return self.criterion(y_pred, y_true)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.get_loss(self.module(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, x, y, batch_size=64):
        for epoch in range(1, self.max_epochs + 1):
            losses = [self.train_step(x[i], y[i]) for i in torch.randperm(len(x)).split(batch_size)]
            if epoch % 4 == 0:
                accuracy = (self.module(x).argmax(1) == y).float().mean().item()
                print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, accuracy {accuracy:.3f}")


centers = 2 * torch.randn(5, 20)
labels = torch.randint(0, 5, (1000,))
inputs = 3 * (centers[labels] + torch.randn(1000, 20))
NeuralNetClassifier(ClassifierModule()).fit(inputs, labels)
