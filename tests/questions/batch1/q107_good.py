import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
X = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
Y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])

input_dim = X.shape[1]
hidden_dim = 8
output_dim = 1

model = nn.Sequential(
    nn.Linear(input_dim, hidden_dim),
    nn.ReLU(),
    nn.Linear(hidden_dim, output_dim),
    nn.Sigmoid(),
)
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.5)

for epoch in range(3000):
    for i in torch.randperm(4):
        optimizer.zero_grad()
        predictions = model(X[i])
        loss = criterion(predictions, Y[i])
        loss.backward()
        optimizer.step()
    if epoch % 500 == 0:
        print(f"epoch {epoch} loss {criterion(model(X), Y).item():.4f}")

for x, y in zip(X, Y):
    print(x.tolist(), y.item(), round(model(x).item(), 3))
