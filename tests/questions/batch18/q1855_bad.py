import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def our_function(x):
    return 6 * x * x + 2 * x - 4


def data_generator(data_size=1000):
    x = torch.randint(-1000, 1000, (data_size,)).double()
    y = our_function(x)
    inputs = torch.stack([x, x**2, x**3], dim=1)
    return inputs.float(), y.float().reshape(-1, 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 50)
        self.fc2 = nn.Linear(50, 50)
        self.fc3 = nn.Linear(50, 1)
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.01)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)

    def train_model(self, x_train, y_train, epochs=600):
        for epoch in range(epochs):
            y_pred = self(x_train)
            loss = self.criterion(y_pred, y_train)
            loss.backward()
            self.optimizer.step()
            if (epoch + 1) % 100 == 0:
                print(f"Epoch: {epoch + 1} Loss: {loss.item():,.6g}")


x_train, y_train = data_generator()
x_test, y_test = data_generator()

model = Net()
model.train_model(x_train, y_train)
with torch.no_grad():
    explained = 1 - F.mse_loss(model(x_test), y_test) / y_test.var()
print(f"explained variance on the test set: {explained.item():.4f}")
