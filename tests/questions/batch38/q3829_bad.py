import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)

dim, classes = 30, 5
teacher = torch.randn(dim, classes)
x = torch.randn(1600, dim)
logits = x @ teacher
y = logits.argmax(1)
flip = torch.rand(len(y)) < 0.35
y[flip] = torch.randint(0, classes, (int(flip.sum()),))
x_test = torch.randn(1000, dim)
y_test = (x_test @ teacher).argmax(1)

train_loader = DataLoader(TensorDataset(x, y), batch_size=2, shuffle=True)
prompt_model = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, classes))
loss_func = nn.CrossEntropyLoss()
optimizer1 = torch.optim.AdamW(prompt_model.parameters(), lr=0.02)
gradient_accumulation_steps = 32

actual_step, glb_step, tot_loss = 0, 0, 0.0
for epoch in range(3):
    prompt_model.train()
    tot_loss = 0.0
    for inputs, labels in train_loader:
        loss = loss_func(prompt_model(inputs), labels)
        loss.backward()
        tot_loss += loss.item()
        actual_step += 1
        if actual_step % gradient_accumulation_steps == 0:
            torch.nn.utils.clip_grad_norm_(prompt_model.parameters(), 1.0)
            glb_step += 1
        optimizer1.step()
        optimizer1.zero_grad()
    prompt_model.eval()
    with torch.no_grad():
        acc = (prompt_model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch + 1}  loss {tot_loss / len(train_loader):.4f}  test accuracy {acc:.3f}  updates {glb_step}")
